import Foundation
import TestSupport
import Testing

@Suite("Operations")
struct OperationsTests {
    let server = TestServer.shared

    @Test("quakes rejects shows what could not be imported, and returns its bytes unchanged")
    func rejects() async throws {
        try await server.withDatabase { database in
            let broken = SmallFeed.feature("a", magnitude: "\"one\"")
            let feed = SmallFeed.document([broken, SmallFeed.feature("b")])
            _ = try await quakes(["import", "-"], database, input: feed)

            let table = try await quakes(["rejects"], database)
            #expect(table.output.contains("type") && table.output.contains("mag: expected a number"))
            let lines = try await quakes(["rejects", "--format", "ndjson"], database).output
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(lines.utf8)) as? [String: Any])
            #expect(object["reason"] as? String == "type")
            #expect(object["ordinal"] as? Int == 1)
            #expect(object["count"] as? Int == 1)
            let id = try #require(object["id"] as? Int)
            #expect(try await quakes(["rejects", "\(id)"], database).output == broken)
            #expect(try await quakes(["rejects", "999"], database).status == 66)
            #expect(
                try await quakes(["rejects", "--run", "999"], database).output.split(separator: "\n").count
                    == 1)
        }
    }

    @Test(
        "quakes status ends with 69 and a reason if a feed is too old or a reader too far behind, otherwise with 0"
    )
    func status() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document([SmallFeed.feature("a")])
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                let feed = http.url("/feed")
                #expect(try await quakes(["status", "--max-age", "1m"], database).status == 69)
                _ = try await quakes(["import", feed], database)
                let fresh = try await quakes(["status", "--max-age", "1m", "--max-lag", "1m"], database)
                #expect(fresh.status == 0 && fresh.errors == "")
                #expect(fresh.output.contains(feed) && fresh.output.contains("done"))

                try await database.query("update import.run set finished = finished - interval '1 hour'")
                try await database.query("update import.feed set checked_at = checked_at - interval '1 hour'")
                let old = try await quakes(["status", "--max-age", "1m"], database)
                #expect(old.status == 69)
                #expect(old.errors.contains("\(feed) was last imported successfully 36"))
                #expect(try await quakes(["status"], database).status == 0)

                try await database.query("select history.report('far', 0)")
                try await database.query(
                    "update history.transaction set committed_at = committed_at - interval '1 hour'")
                let far = try await quakes(["status", "--max-lag", "1m"], database)
                #expect(far.status == 69)
                #expect(far.errors.contains("reader far is 36"))
            }
        }
    }

    @Test("With --log-format json a run is one line with all its counts")
    func logLine() async throws {
        try await server.withDatabase { database in
            let feed = SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("a")])
            let run = try await quakes(["import", "-", "--log-format", "json"], database, input: feed)
            let line = try #require(run.errors.split(separator: "\n").first { $0.contains("run ended") })
            let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let expected = [
                "level": "notice", "outcome": "done", "seen": "2", "inserted": "1", "unchanged": "1",
                "stale": "0",
                "superseded": "0", "retracted": "0", "rejected": "0", "run": "1", "last_token": "1",
                "source": "-",
            ]
            for (name, value) in expected { #expect(object[name] as? String == value, "\(name)") }
        }
    }

    private func quakes(
        _ arguments: [String], _ database: TestDatabase, input: String = ""
    ) async throws -> QuakesCommand.Outcome {
        try await QuakesCommand().run(arguments + ["--database", database.url], input: input)
    }
}
