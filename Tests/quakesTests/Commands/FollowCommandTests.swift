import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("quakes follow")
struct FollowCommandTests {
    let server = TestServer.shared

    // MARK: An altered table

    @Test("A stream that reads while the table is being rewritten writes every change with its row")
    func rewritten() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let follow = [
                "follow", "--format", "ndjson", "--once", "--token", folder.appending(path: "t").path,
            ]
            try await database.importFeatures([SmallFeed.feature("a")])
            _ = try await quakes.run(follow)
            try await database.query("update quake set felt = 7")
            let outcome = try await database.altering(.moving) { try await quakes.run(follow) }
            #expect(outcome.lines.count == 2)
            #expect(outcome.lines.first?.contains("\"operation\":\"update\"") == true)
            #expect(
                outcome.lines.first?.contains("\"felt\": 7") == true
                    || outcome.lines.first?.contains("\"felt\":7") == true)
        }
    }

    @Test(
        "A stream that was stopped while the table was altered starts over, even without other changes")
    func alteredMeanwhile() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let follow = [
                "follow", "--format", "ndjson", "--once", "--token", folder.appending(path: "t").path,
            ]
            try await database.importFeatures([SmallFeed.feature("a")])
            _ = try await quakes.run(follow)
            try await database.query("alter table quake add column note text default 'here'")
            let outcome = try await quakes.run(follow)
            #expect(outcome.lines.first == "{\"snapshot\":\"the table was altered\"}")
            #expect(outcome.lines.dropFirst().first?.contains("\"note\"") == true)
            #expect(try await quakes.run(follow).lines.isEmpty)
        }
    }

    @Test(
        "A stream that follows another database with another table names the database as the reason to start over"
    )
    func otherDatabase() async throws {
        try await withDatabase { database, folder in
            try await server.withDatabase { other in
                let follow = [
                    "follow", "--format", "ndjson", "--once", "--token", folder.appending(path: "t").path,
                ]
                try await database.importFeatures([SmallFeed.feature("a")])
                try await other.importFeatures([SmallFeed.feature("b")])
                try await other.query("alter table quake add column note text")
                _ = try await QuakesCommand(["DATABASE_URL": database.url]).run(follow)

                let outcome = try await QuakesCommand(["DATABASE_URL": other.url]).run(follow)

                // The databases of the tests are copies of one database, so they are one store.
                let reason = "token 1 belongs to a different transaction in this database"
                #expect(
                    outcome.lines.first?.hasPrefix("{\"snapshot\":\"\(reason)") == true, "\(outcome.lines)")
                #expect(outcome.errors.contains(" notice: \(reason)"), "\(outcome.errors)")
            }
        }
    }

    // MARK: A view

    @Test(
        "--once catches up and exits; list --view shows the rows, and prints their age on standard error"
    )
    func once() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let view = folder.appending(path: "view.sqlite").path
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            let first = try await quakes.run("follow", "--once", "--view", view)
            try await database.query("delete from quake where code = 'q0a'")
            let second = try await quakes.run("follow", "--once", "--view", view)

            // This command needs no database.
            let list = try await QuakesCommand().run("list", "--view", view, "--format", "ndjson")

            #expect(first.status == 0 && second.status == 0)
            #expect(first.errors.hasSuffix("notice: first start: taking a snapshot at token 1\n"))
            #expect(first.output + second.output + second.errors == "")
            #expect(list.status == 0)
            #expect(list.output == (try await quakes.run("list", "--format", "ndjson").output))
            #expect(list.output.contains("q0b") && !list.output.contains("q0a"))
            #expect(list.errors.hasPrefix("quakes: \(view) is as of token 2, 20"))
        }
    }

    @Test("The command follows until SIGTERM, then exits with 0; changes committed before the signal arrive")
    func follows() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let view = folder.appending(path: "view.sqlite").path

            let status = try await quakes.run(["follow", "--view", view, "--name", "me"]) { process in
                for code in ["a", "b"] {
                    try await waitUntil { FileManager.default.fileExists(atPath: view) }
                    try await database.importFeatures([SmallFeed.feature(code)])
                    try await waitUntil {
                        try await quakes.run("list", "--view", view).output.contains(code)
                    }
                }
                kill(process, SIGTERM)
            }

            #expect(status == 0)
            #expect(try TableText(file: view) == (try await database.tableText()))
            #expect(try await database.query("select from history.reader where name = 'me'").count == 1)
        }
    }

    @Test(
        "SIGTERM ends the command with 0 even while the command waits for the database's first answer",
        arguments: [["follow", "--view", "view.sqlite"], ["associate", "--follow"]])
    func endsAtOnce(command: [String]) async throws {
        try await withDatabase { _, folder in
            // The server never answers the first connection.
            let silent = "postgresql://nobody@/x?host=\(folder.path)"
            let socket = try ListeningSocket(folder.appending(path: ".s.PGSQL.5432").path)
            let quakes = QuakesCommand(["DATABASE_URL": silent])
            let arguments = command.map { $0 == "view.sqlite" ? folder.appending(path: $0).path : $0 }

            let status = try await quakes.run(arguments) { process in
                try await waitUntil { socket.hasClient }
                kill(process, SIGTERM)
            }

            #expect(status == 0)
        }
    }

    @Test("A second follower of a file ends with 75, and the error names the first one's process")
    func busy() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let file = folder.appending(path: "file").path
            for output in [["--view", file], ["--format", "ndjson", "--token", file + ".json"]] {
                let status = try await quakes.run(["follow"] + output) { process in
                    let path = output.last!
                    try await waitUntil { FileManager.default.fileExists(atPath: path) }

                    let second = try await quakes.run(["follow", "--once"] + output)

                    #expect(second.status == 75)
                    #expect(
                        second.errors
                            == "quakes: process \(process) already follows into \(path); stop it, or name another file\n"
                    )
                    kill(process, SIGTERM)
                }
                #expect(status == 0)
            }
        }
    }

    @Test(
        "The exit code is 65 for another program's file, 66 for a missing view, and 74 if a view cannot be created"
    )
    func wrongFile() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let (text, missing) = (
                folder.appending(path: "text").path, folder.appending(path: "no/file").path
            )
            try Data("hello".utf8).write(to: URL(filePath: text))
            let problem = "it is not a view but another program's file; name another file"

            for (arguments, status, message) in [
                (["follow", "--once", "--view", text], 65, "\(text): \(problem)"),
                (["list", "--view", text], 65, "\(text): \(problem)"),
                (
                    ["follow", "--once", "--view", missing], 74,
                    "cannot open \(missing).lock: No such file or directory"
                ),
                (["list", "--view", missing], 66, "cannot read \(missing): No such file or directory"),
            ] as [([String], Int32, String)] {
                let outcome = try await quakes.run(arguments)
                #expect(outcome.status == status, "\(arguments)")
                #expect(outcome.errors == "quakes: \(message)\n")
            }
        }
    }

    @Test("In a read-only folder, following ends with 74, but an existing view can be listed")
    func readOnlyFolder() async throws {
        try await withDatabase { database, folder in
            let view = folder.appending(path: "view.sqlite").path
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures([SmallFeed.feature("a")])
            #expect(try await quakes.run("follow", "--once", "--view", view).status == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                chmod(folder.appending(path: name).path, 0o444)
            }
            chmod(folder.path, 0o555)
            defer { chmod(folder.path, 0o755) }

            let new = folder.appending(path: "new").path
            for output in [["--view", new], ["--format", "ndjson", "--token", new]] {
                let outcome = try await quakes.withoutPrivileges.run(["follow", "--once"] + output)
                #expect(outcome.status == 74)
                #expect(outcome.errors == "quakes: cannot open \(new).lock: Permission denied\n")
            }
            let list = try await quakes.withoutPrivileges.run("list", "--view", view)
            #expect(list.status == 0)
            #expect(list.output.contains("somewhere"), "\(list.errors)")
        }
    }

    @Test("If the view's file cannot grow, the command ends with 74 and an error, and the view is unchanged")
    func noRoom() async throws {
        try await withDatabase { database, folder in
            let view = folder.appending(path: "view.sqlite").path
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importSample(100)
            #expect(try await quakes.run("follow", "--once", "--view", view).status == 0)
            let before = try TableText(file: view)
            try await database.importSample(3000)

            var confined = quakes
            // The limit is 768,000 bytes, because ThreadSanitizer fails if it cannot write a file of 512 KiB at the start.
            confined.launcher = ["sh", "-c", "ulimit -f 1500; trap '' XFSZ; exec \"$0\" \"$@\""]
            let outcome = try await confined.run("follow", "--once", "--view", view)

            #expect(outcome.status == 74)
            #expect(outcome.errors == "quakes: \(view): disk I/O error\n")
            #expect(try TableText(file: view) == before)
            #expect(try await quakes.run("follow", "--once", "--view", view).status == 0)
            #expect(try TableText(file: view) == (try await database.tableText()))
        }
    }

    // MARK: A stream

    @Test("The token file holds the position of the stream, and the next start continues from there")
    func tokenFile() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let token = folder.appending(path: "token").path
            let arguments = ["follow", "--once", "--format", "ndjson", "--token", token]
            try await database.importFeatures([SmallFeed.feature("a")])

            let first = try await quakes.run(arguments).lines
            try await database.query("update quake set magnitude = 2")
            let second = try await quakes.run(arguments).lines
            let third = try await quakes.run(arguments).lines

            #expect(first.count == 3)
            #expect(first[0] == "{\"snapshot\":\"first start\"}")
            #expect(first[1].hasPrefix("{\"row\":{") && first[1].contains("q0a"))
            #expect(second.count == 2)
            #expect(
                second[0].hasPrefix("{\"token\":2,") && second[0].contains("\"before\":{\"magnitude\": 1.5}"))
            #expect(third == [])
            let kept = try String(contentsOfFile: token, encoding: .utf8)
            // The file has the same position as the stream's last line, and also the shape of the table.
            #expect(kept.hasPrefix(second[1].dropLast() + ",\"shape\":\"") && kept.hasSuffix("\"}\n"))
        }
    }

    @Test("A line that a killed process left unfinished does not spoil the next line")
    func tornLine() async throws {
        try await withDatabase { database, folder in
            let file = folder.appending(path: "stream")
            for (before, expected) in [
                ("{\"row\":{\"co", "{\"row\":{\"co\n"), ("whole\n", "whole\n"), ("", ""),
            ] {
                try Data(before.utf8).write(to: file)
                let output = try FileHandle(forUpdating: file)
                try output.seekToEnd()

                let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run(
                    ["follow", "--once", "--format", "ndjson"], writingTo: output
                ) { _ in }

                #expect(outcome.status == 0)
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(text.hasPrefix(expected + "{\"snapshot\":\"first start\"}\n"))
            }
        }
    }

    @Test("Rows look the same in a snapshot and in a change, regardless of the session's settings")
    func sessionSettings() async throws {
        try await withDatabase { database, folder in
            let strange = [
                "PGTZ": "Asia/Kathmandu", "PGOPTIONS": "-cextra_float_digits=-12 -cDateStyle=German",
            ]
            var quakes = QuakesCommand(["DATABASE_URL": database.url])
            quakes.environment.merge(strange) { $1 }
            let token = folder.appending(path: "token").path
            let arguments = ["follow", "--once", "--format", "ndjson", "--token", token]
            try await database.importFeatures([SmallFeed.feature("a", magnitude: "1.0000000000000002")])

            let snapshot = try #require(try await quakes.run(arguments).lines.dropFirst().first)
            try await database.query("update quake set place = place || '!'; ")
            let change = try #require(try await quakes.run(arguments).lines.first)

            let row = try #require(Self.object(snapshot)["row"] as? [String: Any])
            var changed = try #require(Self.object(change)["row"] as? [String: Any])
            #expect(changed["place"] as? String == "somewhere!")
            changed["place"] = "somewhere"
            #expect(NSDictionary(dictionary: row) == NSDictionary(dictionary: changed))
            #expect(snapshot.contains("1.0000000000000002") && snapshot.contains("1970-01-01T00:00:01+00:00"))
            #expect(try #require(Self.object(change)["committed_at"] as? String).hasSuffix("+00:00"))
        }
    }

    private static func object(_ line: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test(
        "The exit code is 65 with a remedy if the token file holds no position, and 74 if it cannot be read")
    func garbage() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let token = folder.appending(path: "token").path
            let follow = ["follow", "--once", "--format", "ndjson", "--token", token]
            for text in Self.otherTexts {
                try Data(text.utf8).write(to: URL(filePath: token))
                let outcome = try await quakes.run(follow)

                #expect(outcome.status == 65, "\(text)")
                #expect(
                    outcome.errors
                        == "quakes: \(token) does not hold the position of a stream; remove it to start over with a snapshot\n",
                    "\(text)")
                #expect(outcome.output == "", "\(text)")
            }

            try FileManager.default.removeItem(atPath: token)
            try FileManager.default.createDirectory(atPath: token, withIntermediateDirectories: false)
            let outcome = try await quakes.run(follow)

            #expect(outcome.status == 74)
            #expect(outcome.errors == "quakes: cannot read \(token): Is a directory\n")
        }
    }

    private static let otherTexts = [
        "", "garbage", "{}", "{\"store\":\"x\",\"token\":1,\"committed_at\":\"2026-01-01T00:00:00Z\"}",
        "{\"store\":\"0f0e0000-0000-0000-0000-000000000000\",\"token\":1,\"committed_at\":\"x\"}",
        #"{"store":"0f0e0000-0000-0000-0000-000000000000","token":1,"committed_at":"2026-01-01T00:00:00.000000Z","shape":"1"}"#,
    ]

    @Test("The command ends with 141 when its consumer closes the pipe, and with 74 when the disk is full")
    func consumerGone() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importSample(3000)
            let (pipe, full) = (Pipe(), try #require(FileHandle(forWritingAtPath: "/dev/full")))

            let head = try await quakes.run(
                ["follow", "--format", "ndjson"], writingTo: pipe.fileHandleForWriting
            ) { _ in
                _ = pipe.fileHandleForReading.availableData
                try pipe.fileHandleForReading.close()
            }
            let disk = try await quakes.run(["follow", "--format", "ndjson"], writingTo: full) { _ in }

            #expect(head.status == 141)
            #expect(head.lastError == "notice: first start: taking a snapshot at token 1")
            #expect(disk.status == 74)
            #expect(disk.lastError == "quakes: cannot write the output: No space left on device")
        }
    }

    @Test("SIGTERM ends the command with 0 even if its consumer has stopped reading")
    func consumerStuck() async throws {
        try await withDatabase { database, folder in
            try await database.importSample(3000)
            let pipe = Pipe()

            let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run(
                ["follow", "--format", "ndjson"], writingTo: pipe.fileHandleForWriting
            ) { process in
                let reader = pipe.fileHandleForReading.fileDescriptor
                try await waitUntil {
                    var count: Int32 = 0
                    return ioctl(reader, UInt(FIONREAD), &count) == 0 && count > 60_000
                }
                kill(process, SIGTERM)
            }

            #expect(outcome.status == 0)
            #expect(outcome.lastError == "notice: first start: taking a snapshot at token 1")
        }
    }

    /// consumer                  follower                          server
    ///
    /// stops reading
    ///                           writes until the pipe is full,
    ///                           in the middle of a line
    ///                                                             ends its session
    /// reads again
    ///                           ends the line, writes what has
    ///                           arrived, reconnects, and begins
    ///                           another pass on its own line
    @Test("A connection lost in the middle of a line does not spoil the next pass")
    func lostInTheMiddleOfALine() async throws {
        try await withDatabase { database, folder in
            try await database.importSample(3000)
            let pipe = Pipe()
            let stream = Mutex(Data())

            let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run(
                ["follow", "--format", "ndjson"], writingTo: pipe.fileHandleForWriting
            ) { process in
                try await waitUntil {
                    var count: Int32 = 0
                    let reader = pipe.fileHandleForReading.fileDescriptor
                    return ioctl(reader, UInt(FIONREAD), &count) == 0 && count > 60_000
                }
                let ended = try await database.lastingSessions(1)
                _ = try await database.otherSessions(ending: true)
                try await waitUntil { try await ended.isDisjoint(with: database.otherSessions()) }
                while !stream.withLock({ $0.suffix(1000).contains("\n{\"store\"".utf8) }) {
                    stream.withLock { $0.append(pipe.fileHandleForReading.availableData) }
                }
                kill(process, SIGTERM)
            }

            #expect(outcome.status == 0)
            let lines = stream.withLock { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
            #expect(lines.count { $0 == "{\"snapshot\":\"first start\"}" } == 2)
        }
    }

    // MARK: Usage

    @Test(
        "Wrong usage ends with 64",
        arguments: [
            ["follow"], ["follow", "--view", "x", "--format", "ndjson"], ["follow", "--format", "csv"],
            ["follow", "--view", "x", "--token", "y"], ["follow", "--view", "x", "--name", ""],
            ["list", "--view", "x", "--as-of", "1"], ["list", "--view", "x", "--local"],
            ["list", "--view", "x", "--database", "y"], ["status", "--format", "csv"], ["prune"],
            ["prune", "--keep", "2d", "--keep-at-most", "1d"], ["prune", "--keep", "x"],
        ])
    func usage(_ arguments: [String]) async throws {
        let outcome = try await QuakesCommand().run(arguments)
        #expect(outcome.status == 64)
        #expect(outcome.errors.hasPrefix("Error: "), "\(outcome.errors)")
        #expect(outcome.output == "")
    }

    private func withDatabase(_ body: (TestDatabase, URL) async throws -> Void) async throws {
        try await withFolder { folder in
            try await server.withDatabase { database in try await body(database, folder) }
        }
    }
}

extension QuakesCommand.Outcome {
    var lines: [String] { output.split(separator: "\n").map(String.init) }

    /// The last line on standard error. If it is a log line, its time is removed.
    var lastError: String {
        let line = errors.split(separator: "\n").last ?? ""
        let time = #/^\d{4}-\S+ /#
        return String(line).replacing(time, with: "")
    }
}

extension QuakesCommand {
    /// Makes file permissions apply to root as they do to other users.
    var withoutPrivileges: QuakesCommand {
        var quakes = self
        if geteuid() == 0 {
            quakes.launcher = [
                "setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all",
            ]
        }
        return quakes
    }
}
