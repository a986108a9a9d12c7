import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Alerts

func rules(_ yaml: String) throws -> Rules {
    try Rules(yaml: Array(yaml.utf8), file: "rules.yaml", town: town)
}

/// Stands in for the map's list of 1,200 towns.
private func town(_ name: String) throws -> Point {
    struct UnknownTown: Error, CustomStringConvertible {
        let description: String
    }
    let towns = [
        "Tokyo": Point(latitude: 35.69, longitude: 139.75),
        "Osaka": Point(latitude: 34.75, longitude: 135.46),
        "Rome": Point(latitude: 41.89, longitude: 12.51),
        "Los Angeles": Point(latitude: 34.05, longitude: -118.25),
    ]
    if let point = towns[name] { return point }
    throw UnknownTown(description: "no latitude and longitude, and no known town: \(quoted(name))")
}

private func problems(_ yaml: String) -> [String] {
    problems(Array(yaml.utf8))
}

private func problems(_ yaml: [UInt8]) -> [String] {
    do {
        _ = try Rules(yaml: yaml, file: "rules.yaml", town: town)
        return []
    } catch {
        return "\(error)".split(separator: "\n").map(String.init)
    }
}

/// A file with one rule that has these keys.
private func file(rule: String) -> String {
    """
    places: {home: "35.69, 139.75"}
    receivers:
      me: {command: [/bin/true]}
    rules:
      near:
        to: me
    \(rule.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"))
    """
}

@Suite("Alerts: rules files") struct RulesFileTests {
    @Test func aFileIsRead() throws {
        let rules = try rules(
            """
            zone: Asia/Tokyo
            places:
              home: 35.69, 139.75
              parents: Osaka
            mail:
              server: smtp://mail.example.org:587
              from: quakes@example.org
              user: quakes
              password: {file: /etc/quakes/smtp}
            receivers:
              me: {email: me@example.org}
              phone: {ntfy: https://ntfy.sh, topic: {environment: TOPIC}, token: {file: /etc/quakes/token}}
              desk: {webhook: https://example.org/hook, secret: {file: /etc/quakes/hook}, body: text}
              siren: {command: [/usr/local/bin/siren, --loud], timeout: 10s}
            rules:
              near:
                near: [home, parents, Los Angeles]
                magnitude: [2.5 within 20 km, M 4 within 100 km, 6 within 500 km, 7 anywhere]
                intensity: 3
                agencies: [us, JMA, no, scedc]
                tell: [new, no longer]
                max_age: 1 week
                stations: 8
                quiet: {from: 22:00, to: 07:00, zone: Europe/Berlin, then: drop}
                to: [me, phone]
              world: {magnitude: 6, to: siren}
            """)
        #expect(rules.zone == TimeZone(identifier: "Asia/Tokyo"))
        #expect(rules.rules.map(\.name) == ["near", "world"])
        let near = rules.rules[0]
        #expect(near.places.map(\.name) == ["home", "parents", "Los Angeles"])
        #expect(near.places[1].point == Point(latitude: 34.75, longitude: 135.46))
        #expect(
            near.ladder == [.init(2.5, within: 20), .init(4, within: 100), .init(6, within: 500), .init(7)])
        #expect(near.intensity == 3)
        #expect(near.networks == ["us", "jma", "no", "scedc", "ci"])
        #expect(near.kinds == [.new, .noLonger])
        #expect(near.maxAge == .seconds(7 * 86_400))
        #expect(near.stations == 8)
        #expect(near.quiet?.from == 1320)
        #expect(near.quiet?.to == 420)
        #expect(near.quiet?.zone == TimeZone(identifier: "Europe/Berlin"))
        #expect(near.quiet?.action == .drop)
        #expect(near.receivers == ["me", "phone"])
        #expect(rules.rules[1].ladder == [.init(6)])
        #expect(rules.rules[1].maxAge == .seconds(6 * 3600))
        #expect(rules.rules[1].kinds == Set(Kind.allCases))

        let server = MailServer(
            url: "smtp://mail.example.org:587", from: "quakes@example.org", user: "quakes",
            password: .file("/etc/quakes/smtp"))
        #expect(rules.receivers["me"]?.address == .email("me@example.org", via: server))
        #expect(
            rules.receivers["phone"]?.address
                == .ntfy(
                    server: "https://ntfy.sh", topic: .secret(.environment("TOPIC")),
                    token: .file("/etc/quakes/token")))
        #expect(
            rules.receivers["desk"]?.address
                == .webhook(
                    url: .plain("https://example.org/hook"), secret: .file("/etc/quakes/hook"), body: .text))
        #expect(
            rules.receivers["siren"]?.address
                == .command(["/usr/local/bin/siren", "--loud"], limit: .seconds(10)))
    }

    private func document(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        return try String(contentsOf: root.appending(path: "docs/\(name)"), encoding: .utf8)
    }

    @Test func theExampleOfTheDocumentationIsRead() throws {
        let rules = try rules(document("notify.yaml"))
        #expect(rules.rules.count >= 3)
        #expect(Set(rules.rules.flatMap(\.receivers)) == Set(rules.receivers.keys))
    }

    @Test func aTownIsFoundAlthoughAPlaceHasASimilarName() throws {
        let rules = try rules(file(rule: "magnitude: 4 within 100 km\nnear: Rome"))
        #expect(rules.rules[0].places == [.init("Rome", Point(latitude: 41.89, longitude: 12.51))])
    }

    @Test func aFileMayBeginWithAByteOrderMark() throws {
        #expect(try rules("\u{FEFF}" + file(rule: "magnitude: 4")).rules.count == 1)
    }

    /// Reads the file in the section "A mail in five commands", and those in the recipes.
    @Test func theFilesWithinTheDocumentationAreRead() throws {
        let lines = try document("notify.md").split(separator: "\n", omittingEmptySubsequences: false)
        let first = try #require(lines.firstIndex { $0.hasSuffix("<<'END'") })
        let last = try #require(lines.firstIndex { $0.hasSuffix("    END") })
        let file = lines[(first + 1)..<last].map { $0.dropFirst(4) }.joined(separator: "\n")
        #expect(try rules(file).rules.map(\.name) == ["near"])

        var recipes = 0
        for index in lines.indices where lines[index] == "    receivers:" {
            let block = lines[index...].prefix { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }.joined(
                separator: "\n")
            let name = try #require(block.split(separator: "\n")[1].split(separator: ":").first).dropFirst(2)
            #expect(try rules("\(block)\nrules: {all: {magnitude: 5, to: \(name)}}").receivers.count == 1)
            recipes += 1
        }
        #expect(recipes == 4)
    }

    @Test(arguments: [
        (
            "magnitude: 5\nmagnitud: 4",
            #"8:5: unknown key "magnitud" of rule "near"; did you mean "magnitude"?"#
        ),
        ("magnitude: 4\nnear: hone", #"8:11: unknown place "hone"; did you mean "home"?"#),
        ("magnitude: 4\nnear: Atlantis", #"8:11: no latitude and longitude, and no known town: "Atlantis""#),
        (
            "magnitude: 4\nnear: 95, 0",
            "8:11: a latitude is between -90 and 90 degrees, a longitude between -360 and 360"
        ),
        ("magnitude: 4\nnear: 9.5e1, 0", #"8:11: no latitude and longitude, and no known town: "9.5e1, 0""#),
        (
            "magnitude: 1e3",
            #"7:16: "1e3" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        (
            "magnitude: 0x4",
            #"7:16: "0x4" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        (
            "magnitude: .inf",
            #"7:16: ".inf" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        (
            "magnitude: 4:30",
            #"7:16: "4:30" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        (
            "magnitude: no",
            #"7:16: "no" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        (
            "magnitude: 4 within 60 miles",
            #"7:16: "4 within 60 miles" is not a magnitude condition; write 4.5, "4.5 anywhere" or "4.5 within 100 km""#
        ),
        ("magnitude: 40", "7:16: a magnitude is between -3 and 12"),
        (
            "near: home\nmagnitude: 4 within 20017 km",
            #"8:16: a distance must be from 0.1 to 20016 km; for any distance, write "anywhere""#
        ),
        (
            "near: home\nmagnitude: [4 within 100 km, 5 within 50 km]",
            "8:34: the step M 5 has no effect: another one includes it"
        ),
        ("magnitude: [4, 4]", "7:20: the step M 4 has no effect: another one includes it"),
        ("magnitude: []", "7:16: the ladder of magnitudes is an empty list"),
        ("magnitude:", "7:15: a magnitude is empty"),
        ("magnitude: {a: b}", "7:16: a magnitude must be a single value"),
        (
            "magnitude: 4 within 20 km",
            #"5:3: rule "near" has a distance or an intensity, but no place; name one in "near""#
        ),
        (
            "intensity: 3",
            #"5:3: rule "near" has a distance or an intensity, but no place; name one in "near""#
        ),
        ("near: home", #"5:3: rule "near" needs a magnitude or an intensity"#),
        (
            "near: home\nintensity: 11",
            "8:16: the intensity must be a number from 1 to 10, without an exponent"
        ),
        ("magnitude: 4\ntell: [new, withdrwn]", #"8:17: unknown kind "withdrwn"; did you mean "withdrawn"?"#),
        (
            "magnitude: 4\ntell: no",
            #"8:11: unknown kind "no"; known: new, risen, corrected, no longer, withdrawn"#
        ),
        (
            "magnitude: 4\ntell: withdrawn",
            #"8:11: "tell" must include "new" or "risen": messages of the other kinds only follow an earlier message"#
        ),
        ("magnitude: 4\nmax_age: 31d", "8:14: max_age must be a time from 1m to 30d, such as 45m, 6h or 7d"),
        ("magnitude: 4\nmax_age: 6", "8:14: max_age must be a time from 1m to 30d, such as 45m, 6h or 7d"),
        ("magnitude: 4\nmax_age: 1M", "8:14: max_age must be a time from 1m to 30d, such as 45m, 6h or 7d"),
        ("magnitude: 4\nmax_age: 1mo", "8:14: max_age must be a time from 1m to 30d, such as 45m, 6h or 7d"),
        (
            "magnitude: 4\nstations: some",
            "8:15: stations must be a number from 1 to 10000, without an exponent"
        ),
        ("magnitude: 4\nquiet: {from: 22:00}", #"8:12: quiet hours need "to", such as to: 22:00"#),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 25:00}",
            #"8:30: "25:00" is not a time of day, such as 07:00 or 22:30"#
        ),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: -7:00}",
            #"8:30: "-7:00" is not a time of day, such as 07:00 or 22:30"#
        ),
        (
            "magnitude: 4\nquiet: {from: 1320, to: 07:00}",
            #"8:19: "1320" is not a time of day, such as 07:00 or 22:30"#
        ),
        ("magnitude: 4\nquiet: {from: 07:00, to: 07:00}", "8:12: quiet hours of a whole day would never end"),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 07:00, zone: BST}",
            #"8:43: there is no time zone "BST"; an example of a name is Europe/Berlin"#
        ),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 07:00, zone: utc}",
            #"8:43: there is no time zone "utc"; did you mean "UTC"?"#
        ),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 07:00, zone: Europe/Berln}",
            #"8:43: there is no time zone "Europe/Berln"; did you mean "Europe/Berlin"?"#
        ),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 07:00, zone: no}",
            #"8:43: there is no time zone "no"; an example of a name is Europe/Berlin"#
        ),
        (
            "magnitude: 4\nquiet: {from: 22:00, to: 07:00, then: dorp}",
            #"8:43: "then" must be "defer" or "drop", not "dorp""#
        ),
        ("magnitude: 4\nquiet: yes", "8:12: quiet hours must consist of keys with values"),
        ("magnitude: 4\nmagnitude: 5", #"7:5: the key "magnitude" occurs twice"#),
        (
            "magnitude: &four 4\nintensity: *four",
            "7:16: anchors and aliases are not supported; write the value out"
        ),
    ])
    func aBadRuleIsRefused(rule: String, problem: String) {
        #expect(problems(file(rule: rule)) == ["rules.yaml:\(problem)"])
    }

    @Test func keysThatDifferOnlyInTheirTagsAreTheSameKey() {
        let yaml = "receivers:\n  a: {command: [/bin/true]}\n  !x a: {command: [/bin/false]}"
        #expect(problems(yaml).contains(#"rules.yaml:3:3: the key "a" occurs twice"#))
    }

    @Test func keysThatDifferOnlyInTheirQuotesAreTheSameKey() {
        let yaml = "receivers:\n  1: {command: [/bin/true]}\n  \"1\": {command: [/bin/false]}"
        #expect(problems(yaml) == [#"rules.yaml:2:3: the key "1" occurs twice"#])
    }

    @Test(arguments: [
        ("mail", #"4:3: receiver "x" needs one of command, webhook, ntfy, email"#),
        ("{commnd: [/bin/true]}", #"4:7: unknown key "commnd" of receiver "x"; did you mean "command"?"#),
        (
            "{command: siren}",
            #"4:16: a command must begin with the full path of a program; for a shell, write [/bin/sh, -c, "…"]"#
        ),
        ("{command: [/bin/true], timeout: 1h}", "4:38: timeout must be a time from 1s to 10m"),
        ("{command: [/bin/true], token: {file: /x}}", #"4:29: "token" is not an option of command"#),
        (
            "{webhook: ftp://example.org/SECRET}",
            "4:16: the value must be a URL that begins with https:// or http://"
        ),
        (
            "{webhook: https://me:SECRET@example.org/}",
            "4:16: a URL must not contain a user or a password"
        ),
        (
            "{webhook: https://example.org, secret: SECRET}",
            "4:45: the webhook's secret must not be in this file; write where it is kept: {file: /etc/quakes/NAME} or {environment: NAME}"
        ),
        (
            "{webhook: https://example.org, secret: {file: SECRET}}",
            "4:52: the file of a secret must be a full path"
        ),
        (
            "{webhook: https://example.org, secret: {}}",
            "4:45: the webhook's secret needs one of file, environment"
        ),
        (
            "{webhook: https://example.org, body: slack}",
            #"4:43: unknown body "slack"; known: standard, text, content"#
        ),
        ("{ntfy: https://ntfy.sh}", "4:7: ntfy needs a topic"),
        ("{ntfy: https://ntfy.sh, topic: SECRET/x}", "4:37: a topic has up to 64 letters, digits, _ and -"),
        ("{email: me@example.org}", "4:14: e-mail needs a mail server; add the section mail"),
    ])
    func aBadReceiverIsRefusedWithoutItsSecret(receiver: String, problem: String) {
        let found = problems("rules:\n  a: {magnitude: 5, to: x}\nreceivers:\n  x: \(receiver)\n")
        #expect(
            found.contains("rules.yaml:\(problem)"), "\(found)"
        )
        #expect(!found.contains { $0.contains("SECRET") })
    }

    @Test(arguments: [
        (
            "{server: smtp://h, from: q@example.org, user: u}",
            "mail needs both a user and a password, or neither"
        ),
        (
            "{server: smtp://h, from: q@example.org, user: u, password: SECRET}",
            "the password must not be in this file"
        ),
        (
            "{server: smtp://h, from: q@example.org, encryption: none, user: u, password: {file: /x}}",
            "a password needs encryption; without it, others could read the password"
        ),
        (
            "{server: mail.example.org, from: q@example.org}",
            "the value must be a URL that begins with smtp:// or smtps://"
        ),
        (
            "{server: smtp://h, from: 'q@example.org>\\r\\nRCPT TO:<x@y>'}",
            "the sender's address must be a single address in ASCII"
        ),
        ("{server: smtp://h, from: me}", "the sender's address must be a single address in ASCII"),
        ("{from: q@example.org}", #"mail needs "server""#),
        (
            "{server: smtp://h, from: q@example.org, encryption: no}",
            #"encryption must be required or none, not "no""#
        ),
    ])
    func aBadMailServerIsRefusedWithoutItsSecret(mail: String, problem: String) {
        let found = problems(
            "mail: \(mail)\nrules:\n  a: {magnitude: 5, to: x}\nreceivers: {x: {command: [/bin/true]}}\n")
        #expect(found.contains { $0.contains(problem) && $0.hasPrefix("rules.yaml:1:") }, "\(found)")
        #expect(!found.contains { $0.contains("SECRET") })
    }

    @Test func allProblemsAreListedInTheOrderOfTheFile() {
        let found = problems(file(rule: "magnitud: 4\nnear: hone\ntell: [new, withdrwn]"))
        #expect(
            found == [
                #"rules.yaml:5:3: rule "near" needs a magnitude or an intensity"#,
                #"rules.yaml:7:5: unknown key "magnitud" of rule "near"; did you mean "magnitude"?"#,
                #"rules.yaml:8:11: unknown place "hone"; did you mean "home"?"#,
                #"rules.yaml:9:17: unknown kind "withdrwn"; did you mean "withdrawn"?"#,
            ])
    }

    @Test(arguments: [
        ("", "rules.yaml: the file is empty"),
        ("# nothing\n", "rules.yaml: the file is empty"),
        ("[]", "rules.yaml:1:1: the file must consist of keys with values"),
        (
            "rules: {}\nreceivers: {}\n--- \nrules: {}\n",
            "rules.yaml:3:1: not YAML: but found another document"
        ),
        ("rules: [\n", "rules.yaml:2:1: not YAML: did not find expected node content"),
        ("rules:\n\tnear: home\n", "rules.yaml:2:1: YAML lines are indented with spaces, not tabs"),
        ("rules:\n  a: {magnitude: 5, to: x}\n", "rules.yaml:1:1: the file has no receivers"),
        ("receivers: {}\n", "rules.yaml:1:1: the file has no rules"),
        (
            "receiver: {}\nrules: {}\n",
            #"rules.yaml:1:1: unknown key "receiver" of the file; did you mean "receivers"?"#
        ),
        ("? [a]\n: b\n", "rules.yaml:1:3: a key must be a word"),
    ])
    func aFileThatIsNotARulesFileIsRefused(text: String, problem: String) {
        #expect(problems(text).contains(problem), "\(problems(text))")
    }

    @Test func bytesThatAreNotUTF8AreRefusedWithTheirLine() {
        #expect(
            problems(Array("rules:\n  a".utf8) + [0xff, 0x0a]) == ["rules.yaml:2:1: the line is not UTF-8"])
        #expect(
            !problems([0xef, 0xbb, 0xbf] + Array("rules: {}".utf8)).contains { $0.contains("unknown key") })
        #expect(problems(Array("rules: \u{0}".utf8)).count >= 1)
        let large = [UInt8](repeating: UInt8(ascii: "#"), count: (1 << 20) + 1)
        #expect(problems(large) == ["rules.yaml: the file has more than 1 MiB"])
    }

    @Test func deepAndRepeatedNestingIsRefused() {
        #expect(!problems(String(repeating: "[", count: 100_000)).isEmpty)
        let laughs =
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + (1..<25).map { "k\($0): &k\($0) [*\($0 == 1 ? "a" : "k\($0 - 1)"),*a,*a]\n" }.joined()
        #expect(
            problems(laughs) == ["rules.yaml:1:4: anchors and aliases are not supported; write the value out"]
        )
    }

    /// Damages a file at random: every result is read or refused, and nothing crashes.
    @Test func damagedFilesAreReadOrRefused() throws {
        let text = Array(
            file(rule: "magnitude: [2.5 within 20 km, 4]\nnear: home\nquiet: {from: 22:00, to: 07:00}").utf8)
        var random = seededRandom()
        for _ in 0..<3000 {
            var damaged = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                damaged[index] =
                    Bool.random(using: &random)
                    ? .random(in: 0...255, using: &random)
                    : Array("{}[]:,&*!|>-'\"#%@\n\t ".utf8).randomElement(using: &random)!
            }
            for problem in problems(damaged) { #expect(problem.hasPrefix("rules.yaml")) }
        }
    }

    @Test func secretsAreNotPartOfDescriptions() throws {
        let rules = try rules(
            """
            receivers:
              a: {webhook: "https://hooks.example.org/SECRET"}
              b: {ntfy: "https://ntfy.sh", topic: SECRET}
            rules:
              r: {magnitude: 5, to: [a, b]}
            """)
        var dumped = ""
        dump(rules, to: &dumped)
        for text in ["\(rules)", String(reflecting: rules), dumped] { #expect(!text.contains("SECRET")) }
    }
}
