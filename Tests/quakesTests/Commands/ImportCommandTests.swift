import Feed
import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@testable import quakes

@Suite("quakes import")
struct ImportCommandTests {
    let server = TestServer.shared

    @Test("For a missing file, a failed run is recorded only if the file was imported before")
    func missingFile() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let outcomes: Query = "select outcome from import.run order by id"
            let path = try await SmallFeed.withFile(SmallFeed.document([SmallFeed.feature("a")])) { path in
                let early = try await quakes.run("import", path + ".gz")
                #expect(early.status == 66 && early.errors.contains("No such file or directory"))
                #expect(try await database.query(outcomes).isEmpty)
                #expect(try await quakes.run("import", path).status == 0)
                return path
            }
            let gone = try await quakes.run("import", path)
            #expect(gone.status == 66 && gone.errors.contains("No such file or directory"))
            #expect(
                try await database.query(outcomes).map { try $0.decode("outcome") } == ["done", "failed"])
        }
    }

    @Test("With --format json, standard output is one JSON object with every count")
    func jsonSummary() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])

            let outcome = try await quakes.run(
                "import", "-", "--format", "json", input: SmallFeed.document([SmallFeed.feature("a")]))

            #expect(outcome.status == 0)
            #expect(outcome.errors == "")
            let summary = try #require(
                JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            #expect(
                Set(summary.keys) == [
                    "run", "source", "feed", "outcome", "error", "seen", "inserted", "updated", "unchanged",
                    "stale",
                    "superseded",
                    "retracted", "rejected", "bytes", "seconds", "first_token", "last_token",
                ])
            #expect(summary["source"] as? String == "-" && summary["error"] is NSNull)
            #expect(summary["inserted"] as? Int == 1)
            #expect(summary["outcome"] as? String == "done")
        }
    }

    @Test("If a source fails, the others are still imported, and each source has its own JSON object")
    func jsonForEachSource() async throws {
        try await server.withDatabase { database in
            let arguments = ["import", "nofile", "-", "--format", "json"]
            func objects(_ outcome: QuakesCommand.Outcome) throws -> [[String: Any]] {
                try outcome.output.split(separator: "\n").map {
                    try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
            }

            let reached = try await QuakesCommand(["DATABASE_URL": database.url]).run(
                arguments, input: SmallFeed.document([SmallFeed.feature("a")]))
            #expect(reached.status == 66)
            #expect(reached.errors == "quakes: cannot read nofile: No such file or directory\n")
            let both = try objects(reached)
            #expect(both.map { $0["source"] as? String } == ["nofile", "-"])
            #expect(both.map { $0["outcome"] as? String } == ["failed", "done"])
            #expect(both[0]["error"] as? String == "cannot read nofile: No such file or directory")
            #expect(both[1]["error"] is NSNull && both[1]["inserted"] as? Int == 1)

            let unreached = try await QuakesCommand(["DATABASE_URL": "postgresql://127.0.0.1:1/"]).run(
                arguments)
            #expect(unreached.status == 69)
            let neither = try objects(unreached)
            #expect(neither.map { $0["source"] as? String } == ["nofile", "-"])
            #expect(neither.allSatisfy { $0["outcome"] as? String == "failed" && $0["run"] is NSNull })
            #expect(neither.allSatisfy { ($0["error"] as? String)?.contains("cannot connect") == true })
        }
    }

    @Test("After rejects, the summary names the command that shows them, and that command works")
    func rejects() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let feed = SmallFeed.document([
                SmallFeed.feature("a"), SmallFeed.feature("b", magnitude: "\"x\""),
            ])

            let imported = try await quakes.run("import", "-", input: feed)

            let command = try #require(imported.output.firstMatch(of: /see quakes (rejects --run \d+)\n/))
            let listed = try await quakes.run(command.1.split(separator: " ").map(String.init))
            #expect(listed.output.contains("mag: expected a number"))
            let dry = try await quakes.run("import", "-", "--dry-run", input: feed)
            #expect(dry.output.hasSuffix("dry run\n"))
        }
    }

    @Test(
        "The output of quakes sample can be imported from standard input, and a second import changes nothing"
    )
    func sampleToImport() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let sample = try await quakes.run("sample", "--count", "300", "--seed", "7")
            #expect(try await quakes.run("import", "-", input: sample.output).output.contains("300 inserted"))

            let again = try await quakes.run("import", "-", input: sample.output)

            #expect(again.output.contains("300 seen, 0 inserted, 0 updated, 300 unchanged"))
        }
    }

    @Test("Unusual input gives the right exit code, and an error is one line with the reason")
    func badInput() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for input in Self.badInputs {
                let outcome = try await quakes.run("import", "-", input: input.document)

                let said = "\(input.name): \(outcome.errors)"
                #expect(outcome.status == input.status, "\(said)")
                #expect(
                    outcome.errors.split(separator: "\n").count == (input.message.isEmpty ? 0 : 1), "\(said)")
                #expect(input.message.isEmpty || outcome.errors.contains(input.message), "\(said)")
            }
        }
    }

    private struct BadInput: Sendable {
        let name: String
        let document: String
        let status: Int32
        let message: String
    }

    private static let badInputs = [
        BadInput(
            name: "an HTML page", document: "<!DOCTYPE html><html></html>", status: 65,
            message: "an HTML page, not an earthquake document, at byte 0"),
        BadInput(
            name: "a truncated document",
            document: String(SmallFeed.document([SmallFeed.feature("a")]).dropLast(10)), status: 65,
            message: "the document ends too early, at byte"),
        BadInput(
            name: "an object without type", document: "{\"features\":[]}", status: 65,
            message: "the top-level object has no \"type\""),
        BadInput(
            name: "nothing", document: "", status: 65, message: "the document is empty, at byte 0"),
        BadInput(
            name: "no features at all", document: SmallFeed.document([]), status: 0, message: ""),
        BadInput(
            name: "only rejected features",
            document: SmallFeed.document([SmallFeed.feature("a", magnitude: "\"x\"")]), status: 65,
            message: "all features (1) were rejected"),
        BadInput(
            name: "a NUL in a place among good features",
            document: SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("b", place: "x\\u0000")]),
            status: 0, message: ""),
        BadInput(
            name: "a string of 10 MB",
            document: SmallFeed.document([
                SmallFeed.feature("a"),
                SmallFeed.feature("b", place: String(repeating: "x", count: 10_000_000)),
            ]), status: 0, message: ""),
        BadInput(
            name: "10,000 nested arrays",
            document: SmallFeed.document([
                SmallFeed.feature("a"),
                SmallFeed.feature(
                    "b",
                    more: "\"deep\":" + String(repeating: "[", count: 10_000)
                        + String(repeating: "]", count: 10_000)),
            ]), status: 0, message: ""),
    ]

    @Test(
        "The exit code is 66 for a missing file and 69 for an unreachable server, and both errors name the source"
    )
    func noInput() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])

            let file = try await quakes.run("import", "/no/such/file.geojson")
            let server = try await quakes.run("import", "http://user:secret@127.0.0.1:1/feed")

            #expect(file.status == 66)
            #expect(file.errors == "quakes: cannot read /no/such/file.geojson: No such file or directory\n")
            #expect(server.status == 69)
            #expect(
                server.errors == """
                    quakes: cannot fetch http://127.0.0.1:1/feed: Connection refused, after 4 attempts

                    """)
        }
    }

    @Test("The summary is one line without control characters, even if the file's name has some")
    func oddName() async throws {
        try await server.withDatabase { database in
            try await withFolder { folder in
                let document = SmallFeed.document([SmallFeed.feature("a")])
                let path = "\(folder.path)/a\u{1B}[2J\nb"
                try document.write(toFile: path, atomically: false, encoding: .utf8)
                let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run("import", path)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(outcome.output.contains("1 inserted") && !outcome.output.contains("\u{1B}"))
                #expect(outcome.output.split(separator: "\n").count == 1)
            }
        }
    }

    @Test("The summary has the feed's short name, whether the feed was imported or not modified")
    func shortName() {
        var summary = ImportSummary(source: FeedSource("all_day"))
        #expect(summary.text.hasPrefix("all_day: 0 seen"))
        summary.outcome = .notModified
        #expect(summary.text == "all_day: not modified")
    }

    @Test("A script's command without a database ends with 64 and says how to name one")
    func noDatabase() async throws {
        let outcome = try await QuakesCommand().run("import", "-")

        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("give --database URL or set DATABASE_URL"))
    }

    @Test("If the database cannot be reached, the exit code is 69 and the password stays secret")
    func unreachableDatabase() async throws {
        let url = "postgresql://someone:hunter2@127.0.0.1:1/nowhere"

        let outcome = try await QuakesCommand().run("import", "-", "--database", url)

        #expect(outcome.status == 69)
        #expect(
            outcome.errors.contains("cannot connect to user=someone host=127.0.0.1 port=1 dbname=nowhere"))
        #expect(!outcome.errors.contains("hunter2"))
    }

    @Test("For an invalid database URL, the exit code is 64 and the password is not shown")
    func unreadableURL() async throws {
        let outcome = try await QuakesCommand().run(
            "import", "-", "--database", "postgresql://u:hunter2@h/d?nonsense=1")

        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("cannot read the database URL"))
        #expect(!outcome.errors.contains("hunter2"))
    }

    @Test("For a database that was never migrated, the exit code is 69 and the error names the remedy")
    func behind() async throws {
        try await server.withEmptyDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            // The input is larger than a pipe's buffer, and the command ends without reading it.
            let unread = SmallFeed.feature("a", place: String(repeating: "x", count: 1 << 20))
            let before = try await quakes.run("import", "-", input: SmallFeed.document([unread]))
            #expect(before.status == 69)
            #expect(before.errors.contains("run: quakes migrate"))

            #expect(try await quakes.run("migrate").output.contains("applied: 0001_history"))

            #expect(try await quakes.run("import", "-", input: SmallFeed.document([])).status == 0)
        }
    }

    @Test(
        "SIGTERM ends the command with 143, and SIGINT with 130; the run is recorded as cancelled",
        arguments: [(SIGTERM, 143), (SIGINT, 130)] as [(Int32, Int32)])
    func signals(signal: Int32, status: Int32) async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])

            let result = try await quakes.run(["import", "-"]) { process in
                try await waitUntil { try await !database.query("select from import.run").isEmpty }
                kill(process, signal)
            }

            #expect(result == status)
            let run = try await database.query("select outcome from import.run")[0]
            #expect(try run.decode("outcome") == "cancelled")
        }
    }

    @Test("--timeout ends a run that hangs; the exit code is 69 and the run is recorded as failed")
    func timeout() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let nowhere = try #require(FileHandle(forWritingAtPath: "/dev/null"))
            var runs: [Row] = []

            // On a busy machine, the time limit may expire before the run is recorded. The command is then repeated.
            while runs.isEmpty {
                let outcome = try await quakes.run(
                    ["import", "-", "--timeout", "2s"], writingTo: nowhere
                ) { _ in }

                #expect(outcome.status == 69)
                #expect(outcome.errors.hasSuffix("the run took longer than --timeout 2.0 s\n"))
                #expect(outcome.errors.split(separator: "\n").count == 1)
                runs = try await database.query("select outcome, error from import.run")
            }

            #expect(try runs[0].decode("outcome") == "failed")
            #expect(try runs[0].decode("error") == "the run took longer than --timeout 2.0 s")
        }
    }

    @Test("If a temporary file cannot be written, the exit code is 74 and the error names its folder")
    func noRoom() async throws {
        try await server.withDatabase { database in
            var quakes = QuakesCommand(["DATABASE_URL": database.url, "TMPDIR": "/tmp"])
            // The limit is 768,000 bytes, because ThreadSanitizer fails if it cannot write a file of 512 KiB at the start.
            quakes.launcher = ["sh", "-c", "ulimit -f 1500; trap '' XFSZ; exec \"$0\" \"$@\""]
            let sample = try await QuakesCommand().run("sample", "--count", "6000")

            let outcome = try await quakes.run("import", "-", input: sample.output)

            #expect(outcome.status == 74)
            #expect(
                outcome.errors
                    == "quakes: -: cannot write a temporary file in /tmp: File too large; set TMPDIR to another folder\n"
            )
            let run = try #require(try await database.query("select outcome from import.run").first)
            #expect(try run.decode("outcome") == "failed")
        }
    }

    @Test("An event service may answer a query with 204, but a feed may not")
    func noContent() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await TestFeedServer.run(script: [.whole(.noContent, [])]) { http in
                let query = try await quakes.run(
                    "import", http.url("/fdsnws/event/1/query?starttime=2020-01-01&endtime=2020-01-02"))
                #expect(query.status == 0, "\(query.errors)")
                let feed = try await quakes.run("import", http.url("/all_day.geojson"))
                #expect(feed.status == 69)
            }
            let runs = try await database.query("select outcome, seen from import.run order by id")
            #expect(try runs.map { try $0.decode("outcome", as: String.self) } == ["done", "failed"])
            #expect(try await database.query("select from import.coverage").isEmpty)
        }
    }

    @Test("A second run of the same source ends with 75, unless another source fails")
    func busy() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await SmallFeed.withFile(SmallFeed.document([])) { path in
                try await database.withConnection { holder in
                    try await holder.query(
                        "select pg_advisory_lock(import.lock_key(\(path)))", to: "hold the source")

                    let outcome = try await quakes.run("import", path)

                    #expect(outcome.status == 75)
                    #expect(outcome.errors.contains("another run is importing \(path)"))
                    #expect(try await quakes.run("import", path, "\(path).missing").status == 66)
                }
            }
        }
    }

    @Test(
        "Wrong usage ends with 64",
        arguments: [
            ["import"], ["import", "--batch", "0", "x"], ["import", "--lanes", "0", "x"], ["nonsense"],
            ["import", "x", "--max-rejects", "-1"], ["list", "--near", "1,2"], ["sample", "--revise", "2"],
            ["import", "x", "--local", "--database", "y"],
        ])
    func usage(arguments: [String]) async throws {
        let status = try await QuakesCommand().run(arguments) { _ in }
        #expect(status == 64)
    }
}
