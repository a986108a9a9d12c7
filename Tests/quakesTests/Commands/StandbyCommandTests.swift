import Foundation
import TestSupport
import Testing

@Suite("Commands on a hot standby")
struct StandbyCommandTests {
    private let reading = [
        ["list"], ["list", "--format", "json"], ["list", "--as-of", "1"], ["changes"],
        ["changes", "--after", "1"], ["map"], ["plot", "time"], ["report"], ["report", "event"], ["rejects"],
        ["follow", "--format", "ndjson", "--once"],
    ]
    private let writing = [
        ["import", "-"], ["delete", "q0a"], ["prune", "--keep", "1d"],
        ["backfill", "--from", "1d", "--service", "http://127.0.0.1:1/fdsnws/event/1"],
    ]

    @Test("A database with read-only transactions is not called a standby")
    func readOnly() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand([
                "DATABASE_URL": database.url, "PGOPTIONS": "-cdefault_transaction_read_only=on",
            ])
            for arguments in writing {
                let outcome = try await quakes.run(
                    arguments, input: SmallFeed.document([SmallFeed.feature("c")]))
                #expect(outcome.status == 69, "\(arguments): \(outcome.status) \(outcome.errors)")
                #expect(outcome.errors.contains("see default_transaction_read_only"), "\(outcome.errors)")
                #expect(!outcome.errors.contains("standby"), "\(outcome.errors)")
            }
        }
    }

    @Test(
        "Reading commands give the same output as on the primary; writing commands fail and name the standby")
    func standby() async throws {
        let primary = try await TemporaryServer.start()
        #expect(try await QuakesCommand().run("migrate", "--database", primary.url).status == 0)
        let database = TestDatabase(url: primary.url)
        try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
        try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "3")])
        try await withStandby(of: primary.cluster) { standby in
            try await standby.catchUp()
            let (here, there) = (
                QuakesCommand(["DATABASE_URL": primary.url]), QuakesCommand(["DATABASE_URL": standby.url()])
            )
            for arguments in reading {
                let (expected, found) = (try await here.run(arguments), try await there.run(arguments))
                #expect(found.status == 0, "\(arguments): \(found.errors)")
                #expect(found.output == expected.output && !found.output.isEmpty, "\(arguments)")
            }
            #expect(try await there.run("status", "--max-lag", "1d").status == 0)
            for arguments in writing {
                let outcome = try await there.run(
                    arguments, input: SmallFeed.document([SmallFeed.feature("c")]))
                #expect(outcome.status == 69, "\(arguments): \(outcome.status) \(outcome.errors)")
                #expect(outcome.errors.contains("a hot standby"), "\(arguments): \(outcome.errors)")
            }
            try await withFolder { folder in
                let file = folder.appending(path: "view.sqlite").path
                #expect(try await there.run("follow", "--view", file, "--name", "away", "--once").status == 0)
                let listed = try await there.run("list", "--view", file, "--format", "json")
                #expect(listed.output == (try await here.run("list", "--format", "json").output))
            }
        }
    }
}
