import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Alerts

@Suite("Alerts: time zones") struct ZoneTests {
    @Test func aZoneHasOffsetsWithNames() throws {
        let berlin = try #require(Zone(named: "Europe/Berlin"))
        #expect(berlin.localType(at: at("2026-03-29T00:59:59Z")) == .init(offset: 3600, abbreviation: "CET"))
        #expect(berlin.localType(at: at("2026-03-29T01:00:00Z")) == .init(offset: 7200, abbreviation: "CEST"))
        #expect(berlin.localType(at: at("1893-03-31T00:00:00Z")).offset == 3208)
        // The file's list of changes ends in 2037; after that, its rule applies.
        #expect(berlin.localType(at: at("2100-07-01T00:00:00Z")).abbreviation == "CEST")
        #expect(berlin.localType(at: at("2100-12-01T00:00:00Z")).abbreviation == "CET")
    }

    @Test(arguments: [
        "", "no", "../etc/passwd", "/etc/passwd", "Europe/", "Europe/Berlin/x", "Europe", "tzdata.zi",
        "Europe/Ber lin",
    ])
    func aNameThatIsNotAZoneIsRefused(name: String) {
        #expect(Zone(named: name) == nil)
    }

    @Test func aDamagedFileGivesNoZone() throws {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: "\(Zone.systemFolder)/Europe/Berlin")))
        for length in stride(from: 0, to: bytes.count - 40, by: 7) {
            #expect(Zone(name: "cut", Array(bytes.prefix(length))) == nil, "\(length)")
        }
        var random = seededRandom()
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<4 {
                damaged[.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            // The result does not matter, as long as nothing crashes.
            _ = Zone(name: "damaged", damaged)?.localType(at: noon)
        }
    }

    /// Python's zoneinfo reads the same files.
    @Test func offsetsAgreeWithPythonInManyZonesAndYears() throws {
        var random = seededRandom()
        let names = [
            "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Nuuk",
            "Africa/Casablanca",
            "Africa/Cairo", "Asia/Tehran", "Asia/Gaza", "Asia/Kathmandu", "Asia/Tokyo", "Australia/Lord_Howe",
            "Pacific/Apia", "Pacific/Chatham", "Pacific/Kiritimati", "America/Santiago", "Antarctica/Troll",
            "Etc/GMT+12",
        ]
        let queries = names.flatMap { name in
            (0..<60).map { _ in (name, Int64.random(in: -3_000_000_000...6_000_000_000, using: &random)) }
        }
        let script = """
            import sys, datetime, zoneinfo
            for line in sys.stdin:
                name, seconds = line.split()
                moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(seconds=int(seconds))
                local = moment.astimezone(zoneinfo.ZoneInfo(name))
                print(int(local.utcoffset().total_seconds()), local.tzname())
            """
        let answers = try output(
            of: "/usr/bin/python3", ["-c", script], queries.map { "\($0) \($1)\n" }.joined())
        let expected = answers.split(separator: "\n").map(String.init)
        #expect(expected.count == queries.count)
        for ((name, seconds), expected) in zip(queries, expected) {
            let type = try #require(Zone(named: name)).localType(at: Instant(milliseconds: seconds * 1000))
            #expect("\(type.offset) \(type.abbreviation)" == expected, "\(name) at \(seconds)")
        }
    }

    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T00:00:00Z", 7200),
        ("<+0330>-3:30", "2026-07-01T00:00:00Z", 12_600),
        ("IST-2IDT,M3.4.4/26,M10.5.0", "2026-07-01T00:00:00Z", 10_800),
        // The southern summer spans the new year.
        ("AEST-10AEDT,M10.1.0,M4.1.0/3", "2026-01-01T00:00:00Z", 39_600),
        ("XXX3EDT4,0/0,J365/23", "2026-07-01T00:00:00Z", -14_400),
        ("AAA-1BBB,J60,J61", "2028-03-01T06:00:00Z", 7200),
    ])
    func aRuleOfPOSIXIsFollowed(rule: String, moment: String, offset: Int) throws {
        let rule = try #require(ZoneRule(rule))
        #expect(rule.localType(at: at(moment).milliseconds / 1000).offset == offset)
    }

    @Test(arguments: [
        "", "CET", "-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1x", "<CET-1",
    ])
    func aBrokenRuleIsRefused(text: String) {
        #expect(ZoneRule(text) == nil)
    }

    @Test func zoneNamesCanBeSuggested() {
        let names = Zone.names()
        #expect(names.contains("Europe/Berlin"))
        #expect(closestSpelling(of: "Europe/Berln", among: names) == "Europe/Berlin")
    }
}

/// The standard output of a program.
func output(of program: String, _ arguments: [String], _ input: String = "") throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    let (stdin, stdout) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (stdin, stdout)
    try process.run()
    // The input is shorter than a pipe's buffer, so the write does not block.
    stdin.fileHandleForWriting.write(Data(input.utf8))
    try stdin.fileHandleForWriting.close()
    let data = stdout.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: data, as: UTF8.self)
}
