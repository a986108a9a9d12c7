import Foundation
import QuakeStore
import TestSupport
import Testing

@Suite("Listings write their first line immediately")
struct FirstLineTests {
    let server = TestServer.shared

    private static let listings = [
        ["list", "--limit", "0"], ["list", "--format", "ndjson"], ["changes"],
        ["changes", "--format", "ndjson"],
        ["changes", "--author", "quakes"], ["report", "event"], ["report", "event", "--format", "csv"],
        ["report", "revision"],
    ]

    /// A server that may not write temporary files cannot sort more than its memory holds, so it must send rows as it reads them.
    @Test("The database never sorts the whole result of a listing")
    func sortsNothing() async throws {
        try await server.withDatabase { database in
            try await database.importSample(5000)
            try await database.importSample(5000, revised: 0.1)
            try await database.query("analyze")
            let name = try await database.query("select quote_ident(current_database()) as name")[0]
                .decode("name", as: String.self)
            for setting in ["temp_file_limit = 0", "work_mem = '1MB'"] {
                try await database.query("alter database \(unescaped: name) set \(unescaped: setting)")
            }

            let quakes = QuakesCommand(["DATABASE_URL": database.url, "PGAPPNAME": "quakes"])
            for arguments in Self.listings {
                let outcome = try await quakes.run(arguments)

                #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
                #expect(outcome.lines.count >= 5000, "\(arguments)")
            }
        }
    }

    @Test("If the reader of the output leaves, the command and its SQL statement end")
    func head() async throws {
        try await server.withDatabase { database in
            try await database.importSample(5000)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for arguments in Self.listings {
                let pipe = Pipe()
                let outcome = try await quakes.run(arguments, writingTo: pipe.fileHandleForWriting) { _ in
                    #expect(!pipe.fileHandleForReading.availableData.isEmpty)
                    try pipe.fileHandleForReading.close()
                }

                #expect(outcome.status == 141 && outcome.errors == "", "\(arguments)")
                try await waitUntil { try await database.otherSessions().isEmpty }
            }
        }
    }

    @Test("A terminal shows 20 rows and a note about --limit; a pipe or --limit 0 shows all rows")
    func limits() async throws {
        try await server.withDatabase { database in
            try await database.importSample(30)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let newest = try await database.query("select code from quake order by time desc limit 1")[0]
                .decode("code", as: String.self)
            for arguments in [["list"], ["changes"], ["report", "event"]] {
                // At 80 columns, a change may take several lines.
                let columns = arguments == ["changes"] ? 160 : 80
                let short = try await quakes.runAtTerminal(arguments, columns: columns)
                let five = try await quakes.runAtTerminal(arguments + ["--limit", "5"], columns: columns)
                let all = try await quakes.runAtTerminal(arguments + ["--limit", "0"], columns: columns)
                let piped = try await quakes.run(arguments)

                let outcomes = [short, five, all, piped]
                #expect(outcomes.map(\.status) == [0, 0, 0, 0], "\(arguments)")
                // A report has so many columns that the names of some need two lines.
                let heading = arguments[0] == "report" ? 2 : 1
                #expect(
                    outcomes.map(\.lines.count) == [20 + heading, 5 + heading, 30 + heading, 31],
                    "\(arguments)")
                #expect(
                    short.errors.hasPrefix("quakes: these are the ")
                        && short.errors.contains("--limit 0 shows all"), "\(arguments)")
                #expect(outcomes.dropFirst().allSatisfy { $0.errors == "" }, "\(arguments)")
                // The rows include the newest event or change.
                if arguments != ["changes"] { #expect(short.output.contains(newest), "\(arguments)") }
            }

            for arguments in [["list"], ["changes"], ["report", "event"], ["rejects"]] {
                let all = try await quakes.run(arguments + ["--limit", "0"])
                let negative = try await quakes.run(arguments + ["--limit=-1"])

                let lines = arguments == ["rejects"] ? 1 : 31
                #expect(all.status == 0 && all.lines.count == lines, "\(arguments)")
                #expect(negative.status == 64, "\(arguments)")
                #expect(negative.errors.contains("--limit must not be negative"), "\(arguments)")
            }
        }
    }

    @Test("Colours and links are only for a terminal")
    func colour() async throws {
        try await server.withDatabase { database in
            let url = "\"url\":\"https://example.org/x\""
            try await database.importFeatures([SmallFeed.feature("x", magnitude: "6.5", more: url)])
            let quakes = QuakesCommand(["DATABASE_URL": database.url])

            let colourful = try await quakes.runAtTerminal(["list"])
            let plain = try await QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1"])
                .runAtTerminal(["list"])
            let piped = try await quakes.run("list")

            #expect(colourful.output.contains("\u{1B}[31m6.5\u{1B}[0m"))
            #expect(colourful.output.contains("\u{1B}]8;;https://example.org/x\u{1B}\\q0x\u{1B}]8;;\u{1B}\\"))
            #expect(!plain.output.contains("\u{1B}") && !piped.output.contains("\u{1B}"))
        }
    }
}
