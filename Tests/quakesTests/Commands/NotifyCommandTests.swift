import Foundation
import Glibc
import PostgreSQL
import TestSupport
import Testing

@Suite("quakes notify")
struct NotifyCommandTests {
    private let server = TestServer.shared

    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private func withDatabase(
        _ body: (TestDatabase, QuakesCommand, URL) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            try await server.withDatabase { database in
                try await body(database, QuakesCommand(["DATABASE_URL": database.url]), folder)
            }
        }
    }

    private func write(_ text: String, to folder: URL, as name: String = "rules.yaml") throws -> String {
        let path = folder.appending(path: name)
        try Data(text.utf8).write(to: path)
        return path.path
    }

    /// Writes a rules file with a receiver that appends each message to another file. Returns the path of the rules file, and a
    /// closure that reads the ids of the messages.
    private func rules(
        _ magnitude: String, in folder: URL
    ) throws -> (rules: String, told: @Sendable () throws -> [String]) {
        let told = folder.appending(path: "told").path
        let text = """
            receivers: {file: {command: [/bin/sh, -c, 'cat >> "$0"; echo >> "$0"', "\(told)"]}}
            rules: {all: {magnitude: \(magnitude), to: file}}
            """
        return (
            try write(text, to: folder),
            {
                let lines = FileManager.default.contents(atPath: told) ?? Data()
                return try String(decoding: lines, as: UTF8.self).split(separator: "\n").map { line in
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    return try #require(object?["id"] as? String)
                }
            }
        )
    }

    // MARK: Without messages

    @Test(
        "Invalid rules end with 65 even without a database, and each problem has its line and a suggested spelling"
    )
    func wrongRules() async throws {
        try await withFolder { folder in
            let path = try write(
                """
                receivers:
                  me: {comand: [/bin/true]}
                rules:
                  near:
                    near: Tokio
                    magnitud: 4
                    to: me
                """, to: folder)
            for flag in [["--check"], ["--once"], ["--test"], []] {
                let outcome = try await QuakesCommand().run(["notify", path] + flag)
                #expect(outcome.status == 65, "\(flag): \(outcome.errors)")
                #expect(outcome.errors.contains("\(path):2:8: unknown key \"comand\""), "\(outcome.errors)")
                #expect(outcome.errors.contains("did you mean \"command\"?"))
                #expect(outcome.errors.contains(":5:11: ") && outcome.errors.contains("did you mean Tokyo?"))
                #expect(outcome.errors.contains("did you mean \"magnitude\"?"))
            }
            let missing = try await QuakesCommand().run("notify", path + "x", "--check")
            #expect(missing.status == 66)
            #expect(missing.errors == "quakes: cannot read \(path)x: No such file or directory\n")
            #expect(try await QuakesCommand().run("notify", folder.path, "--check").status == 74)
        }
    }

    @Test("--check shows which messages each rule would have sent in the past, and reports a missing secret")
    func check() async throws {
        try await withDatabase { database, quakes, folder in
            for (code, magnitude) in [("a", 5.0), ("b", 3.0), ("c", 4.5)] {
                try await database.shake(code, magnitude)
            }
            try await database.shake("b", 4.2)
            try await database.query("delete from quake where code = 'c'")
            // The history has texts that do not fit into the column of today.
            try await database.execute(
                """
                alter table quake add column checked text default 'no'; update quake set checked = '1';
                alter table quake alter checked drop default, alter checked type int using checked::int
                """)
            try await database.shake("ancient", 6, minutes: 60 * 24 * 20)
            let path = try write(
                """
                places: {here: "36, 139"}
                receivers:
                  me: {command: [/bin/true]}
                  phone: {ntfy: "https://ntfy.example.org", topic: {environment: TOPIC}}
                rules:
                  all: {magnitude: 4, to: me}
                  large: {near: here, magnitude: 5 within 100 km, to: phone}
                """, to: folder)
            let outcome = try await quakes.run("notify", "--check", path)
            #expect(outcome.status == 65)
            #expect(outcome.errors == "quakes: receiver phone: no secret in environment variable TOPIC\n")
            let lines = outcome.output.split(separator: "\n").map {
                $0.split(separator: " ").map(String.init)
            }
            // The columns are: rule, messages, new, risen, corrected, no longer matching, withdrawn, matching events.
            #expect(lines.contains(["all", "4", "2", "1", "0", "0", "1", "3"]), "\(outcome.output)")
            #expect(lines.contains(["large", "1", "1", "0", "0", "0", "0", "2"]), "\(outcome.output)")
            #expect(outcome.output.contains("M 4.2 earthquake"))

            var again = quakes
            again.environment["TOPIC"] = "quakes"
            #expect(try await again.run("notify", "--check", path).status == 0)
            // A check leaves the state as it was, so the rules have not started.
            let state = try await database.query("select decided_at is null as is_new from notify.state")[0]
            #expect(try state.decode("is_new"))
        }
    }

    @Test("--test sends a message to each receiver, and names the receivers that were not reached")
    func test() async throws {
        try await PythonReceiver.run("webhook.py", ["200"]) { receiver in
            try await withFolder { folder in
                let path = try write(
                    """
                    receivers:
                      desk: {webhook: "http://127.0.0.1:\(receiver.port)/PATHSECRET"}
                      siren: {command: [/bin/false]}
                    rules: {all: {magnitude: 4, to: [desk, siren]}}
                    """, to: folder)
                let outcome = try await QuakesCommand().run("notify", "--test", path)
                #expect(outcome.status == 69)
                #expect(
                    outcome.output == "desk: delivered\nsiren: command false ended with exit code 1\n")
                let body = try #require(try await receiver.next()["body"] as? String)
                #expect(body.contains("A test message from Quakes"))
                #expect(!(outcome.output + outcome.errors).contains("SECRET"))
            }
        }
    }

    @Test("Incomplete or contradictory options are refused")
    func usage() async throws {
        for arguments in [
            [], ["rules.yaml", "--check", "--once"], ["rules.yaml", "--log"], ["--check"], ["--test"],
        ] {
            #expect(try await QuakesCommand().run(["notify"] + arguments).status == 64, "\(arguments)")
        }
    }

    // MARK: Messages

    @Test(
        "A webhook, ntfy, a mail server and a command each get a message once, and no secret is shown",
        .needsClients)
    func everyone() async throws {
        try await PythonReceiver.run("webhook.py", ["200"], environment: ["SECRET": Self.secret]) { desk in
            try await PythonReceiver.run("webhook.py", ["200"]) { phone in
                try await PythonReceiver.run("mail.py", [], python: #require(Clients.python)) { mail in
                    try await withDatabase { database, quakes, folder in
                        var quakes = quakes
                        quakes.environment["HOOK"] = Self.secret
                        quakes.environment["TOKEN"] = "TOKENSECRET"
                        let told = folder.appending(path: "told").path
                        let topic = try write("TOPICSECRET\n", to: folder, as: "topic")
                        let path = try write(
                            """
                            zone: Asia/Tokyo
                            places: {home: Tokyo}
                            mail: {server: "smtp://127.0.0.1:\(mail.port)", from: quakes@example.org, encryption: none}
                            receivers:
                              me: {email: me@example.org}
                              phone: {ntfy: "http://127.0.0.1:\(phone.port)", topic: {file: "\(topic)"}, token: {environment: TOKEN}}
                              desk: {webhook: "http://127.0.0.1:\(desk.port)/PATHSECRET", secret: {environment: HOOK}}
                              siren: {command: [/bin/sh, -c, 'cat > "$0"', "\(told)"]}
                            rules:
                              near: {near: home, magnitude: 4 within 200 km, to: [me, phone, desk, siren]}
                            """, to: folder)
                        var seen = ""
                        func run(_ arguments: String...) async throws -> QuakesCommand.Outcome {
                            let outcome = try await quakes.run(arguments + ["--log-level", "debug"])
                            seen += outcome.output + outcome.errors
                            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
                            return outcome
                        }
                        _ = try await run("notify", "--once", path)
                        try await database.shake("us1", 5.2)
                        for _ in 0..<2 { _ = try await run("notify", "--once", path) }

                        let posted = try await desk.next()
                        #expect(posted["is_signed"] as? Bool == true)
                        let headers = try #require(posted["headers"] as? [String: String])
                        #expect(headers["webhook-id"] == "desk:us1:1-new")
                        let published = try #require(try await phone.next()["body"] as? String)
                        #expect(published.contains("TOPICSECRET") && published.contains(" of home"))
                        let mailed = try await mail.next()
                        #expect(mailed["to"] as? [String] == ["me@example.org"])
                        #expect(
                            (mailed["text"] as? String)?.contains("Sent because rule near asks for") == true)
                        #expect((mailed["text"] as? String)?.contains(" UTC+9 (") == true)
                        let json = try Data(contentsOf: URL(filePath: told))
                        let message = try #require(
                            try JSONSerialization.jsonObject(with: json) as? [String: Any])
                        #expect(message["id"] as? String == "siren:us1:1-new")

                        let log = try await run("notify", "--log")
                        #expect(log.output.split(separator: "\n").count == 5)
                        #expect(log.output.contains("near: M 4 or more within 200 km of home"))
                        let lines = try await run("notify", "--log", "--format", "ndjson").output
                        #expect(
                            lines.split(separator: "\n").allSatisfy { $0.contains("\"delivered_at\":\"2") })
                        let status = try await run("status")
                        #expect(status.output.contains("notify to phone: last delivery "))
                        _ = try await run("status", "--format", "json")
                        let database = try await database.query(
                            """
                            select coalesce((select string_agg(t::text, ' ') from notify.outbox as t), '')
                                || coalesce((select string_agg(t::text, ' ') from notify.standing as t), '') as text
                            """)[0]
                        seen += try database.decode("text", as: String.self)
                        for secret in ["TOKENSECRET", "TOPICSECRET", "PATHSECRET", Self.secret] {
                            #expect(!seen.contains(secret), "\(secret)")
                        }
                    }
                }
            }
        }
    }

    @Test(
        "A failed delivery is logged and ends --once with 69; status shows the reason and how long it has failed"
    )
    func failing() async throws {
        try await PythonReceiver.run("webhook.py", ["503 Retry-After: 120", "200"]) { desk in
            try await withDatabase { database, quakes, folder in
                let path = try write(
                    """
                    receivers: {desk: {webhook: "http://127.0.0.1:\(desk.port)/PATHSECRET"}}
                    rules: {all: {magnitude: 4, to: desk}}
                    """, to: folder)
                _ = try await quakes.run("notify", "--once", path)
                try await database.shake("a", 5)
                let failed = try await quakes.run("notify", "--once", path)
                #expect(failed.status == 69)
                #expect(
                    failed.errors.contains(
                        "message desk:a:1-new, attempt 1: 127.0.0.1: HTTP status 503; trying again in 120 s"),
                    "\(failed.errors)")
                let status = try await quakes.run("status").output
                #expect(
                    status.contains("notify to desk: 1 message waits, failing for ")
                        && status.contains("(127.0.0.1: HTTP status 503)"), "\(status)")
                #expect(try await quakes.run("notify", "--log").output.contains("attempt 2 at "))
                try await database.query("update notify.outbox set next_attempt_at = now()")
                #expect(try await quakes.run("notify", "--once", path).status == 0)
                let ids = [try await desk.next(), try await desk.next()].map {
                    ($0["headers"] as? [String: String])?["webhook-id"]
                }
                #expect(ids == ["desk:a:1-new", "desk:a:1-new"])
            }
        }
    }

    @Test("A SIGHUP while the command reads its rules for the first time does not end it")
    func earlyReload() async throws {
        try await withDatabase { database, quakes, folder in
            let (path, _) = try rules("4", in: folder)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            try FileManager.default.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
            let status = try await quakes.run(["notify", path]) { process in
                // Opening the pipe succeeds only when the command has opened it to read.
                let pipe = try await opened(path)
                kill(process, SIGHUP)
                // The next reading finds a file instead of the pipe.
                try FileManager.default.removeItem(atPath: path)
                _ = try write(text, to: folder)
                try pipe.write(contentsOf: Data(text.utf8))
                try pipe.close()
                try await waitUntil {
                    try await database.query("select from notify.state where decided_at is not null").count
                        == 1
                }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
    }

    /// Opens a named pipe for writing once another process has opened it for reading.
    private func opened(_ pipe: String) async throws -> FileHandle {
        var file: Int32 = -1
        try await waitUntil {
            file = open(pipe, O_WRONLY | O_NONBLOCK)
            return file >= 0
        }
        return FileHandle(fileDescriptor: file, closeOnDealloc: true)
    }

    @Test("The command reloads its rules when they change and on SIGHUP, and keeps the last valid rules")
    func reload() async throws {
        try await withDatabase { database, quakes, folder in
            let (path, told) = try rules("4", in: folder)
            let errors = folder.appending(path: "errors").path
            var quakes = quakes
            quakes.launcher = QuakesCommand.intoFile + [errors]
            @Sendable func hasSaid(_ text: String, _ count: Int = 1) -> Bool {
                let said = FileManager.default.contents(atPath: errors) ?? Data()
                return String(decoding: said, as: UTF8.self).ranges(of: text).count >= count
            }
            let status = try await quakes.run(["notify", path]) { process in
                try await waitUntil {
                    try await database.query("select from notify.state where decided_at is not null").count
                        == 1
                }
                try await database.shake("a", 5)
                try await waitUntil { try told() == ["file:a:1-new"] }

                // A second process ends with 75.
                let second = try await QuakesCommand(["DATABASE_URL": database.url]).run("notify", path)
                #expect(second.status == 75)
                #expect(second.errors.contains("another quakes notify runs on this database"))

                _ = try rules("6", in: folder)
                try await waitUntil { hasSaid("the rules were read again") }
                try await database.shake("b", 5)
                try await database.shake("c", 6)
                try await waitUntil { try told().contains("file:c:1-new") }

                _ = try write("rules: {all: {magnitud: 1}}", to: folder)
                try await waitUntil { hasSaid("the last good rules stay in force") }
                try FileManager.default.removeItem(atPath: path)
                try await waitUntil { hasSaid("the last good rules stay in force", 2) }
                try await database.shake("d", 6)
                try await waitUntil { try told().contains("file:d:1-new") }

                _ = try rules("3", in: folder)
                try await waitUntil { hasSaid("the rules were read again", 2) }
                kill(process, SIGHUP)
                try await waitUntil { hasSaid("the rules were read again", 3) }
                try await database.shake("e", 3)
                try await waitUntil { try told().contains("file:e:1-new") }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
            #expect(try told() == ["a", "c", "d", "e"].map { "file:\($0):1-new" })
        }
    }
}

extension TestDatabase {
    /// Inserts an earthquake near Tokyo that happened `minutes` minutes ago.
    func shake(_ code: String, _ magnitude: Double, minutes: Int = 1) async throws {
        try await query(
            """
            insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
            values (\(code), 'us', 'x', \(magnitude), now() - make_interval(mins => \(unescaped: "\(minutes)")), now(), 139, 36)
            on conflict (code) do update set magnitude = excluded.magnitude
            """)
    }
}
