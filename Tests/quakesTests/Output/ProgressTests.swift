import Feed
import Foundation
import TestSupport
import Testing

@testable import QuakeStore
@testable import quakes

@Suite("Progress")
struct ProgressTests {
    @Test("A known length gives a percentage, the rate and the remaining time")
    func knownLength() {
        var progress = ProgressState(
            Importer.Progress(
                bytes: 3_650_000, features: 5000, arrival: Arrival(bytes: 250_000, length: 1_000_000)),
            of: FeedSource("all_month"))
        #expect(
            progress.text(after: .seconds(100)) == "all_month: 25%, 5000 events, 3.6 MB, 50/s, 5 min left")
        #expect(progress.text(after: .milliseconds(500)) == "all_month: 25%, 5000 events, 3.6 MB, 10000/s")
        progress.fraction = 1
        #expect(progress.text(after: .seconds(100)).hasPrefix("all_month: 99%, "), "the import continues")
        progress.fraction = nil
        #expect(progress.text(after: .seconds(100)) == "all_month: 5000 events, 3.6 MB, 50/s")
    }

    @Test(
        "The progress of a follower's first pass has the number of rows so far, and an estimate of the total")
    func pass() {
        let snapshot = PassProgress(isSnapshot: true, expected: 4000, rows: 1000)
        #expect(
            ProgressState(snapshot).text(after: .seconds(2))
                == "snapshot: 25%, 1000 of about 4000 earthquakes, 500/s, 6 s left")
        let more = PassProgress(isSnapshot: false, expected: 500, rows: 1000)
        #expect(
            ProgressState(more).text(after: .seconds(2)).contains("1000 of about 1000 changed earthquakes"))
    }

    @Test(
        "Durations for people have one or two units",
        arguments: [
            (0.2, "0 s"), (12, "12 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"),
            (7205, "2 h"),
            (356_400, "4 d 3 h"), (232_128_000, "7 y 131 d"), (-3, "0 s"),
        ])
    func rough(seconds: Double, text: String) {
        #expect(Duration.seconds(seconds).rough == text)
    }

    @Test(
        "At a terminal, the progress is one line that fits the terminal, is rewritten, and is removed at the end"
    )
    func terminal() async throws {
        try await TestServer.shared.withDatabase { database in
            let sample = try await QuakesCommand().run("sample", "--count", "5000").output
            let path = FileManager.default.temporaryDirectory.appending(
                path: "feed-\(UUID())-\(String(repeating: "long", count: 12)).geojson"
            ).path
            try Data(sample.utf8).write(to: URL(filePath: path))
            defer { try? FileManager.default.removeItem(atPath: path) }
            // script(1) creates a terminal for the command.
            var quakes = QuakesCommand([
                "DATABASE_URL": database.url, "COLUMNS": "50", "QUAKES": try QuakesCommand.path, "FEED": path,
            ])
            quakes.launcher = [
                "sh", "-c",
                "exec script -qec '\"$QUAKES\" import \"$FEED\" --batch 1000 --lanes 1' /dev/null",
            ]

            let outcome = try await quakes.run([])

            #expect(outcome.status == 0)
            let pieces = outcome.output.components(separatedBy: "\r\u{1B}[K")
            let lines = pieces.dropFirst().dropLast()
            #expect(!lines.isEmpty)
            #expect(
                lines.allSatisfy { $0.isEmpty || $0.contains("…") && terminalWidth(of: $0) < 50 }, "\(lines)")
            #expect(pieces.last?.contains("5000 seen, 5000 inserted") == true)
        }
    }
}
