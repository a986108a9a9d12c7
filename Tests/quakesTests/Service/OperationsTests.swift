import Foundation
import TestSupport
import Testing

@Suite("Operations")
struct OperationsTests {
    let server = TestServer.shared

    @Test("quakes rejects shows the features that could not be imported, and returns their bytes unchanged")
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
        "quakes status ends with 69 and a reason if a feed is too old or a reader too late, otherwise with 0"
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
                #expect(old.errors.contains("\(feed) was last imported successfully 1 h"))
                #expect(old.errors.contains("; if it is no longer imported: quakes forget \(feed)\n"))
                #expect(try await quakes(["status"], database).status == 0)

                try await database.query("select history.report('far', 0)")
                try await database.query(
                    "update history.transaction set committed_at = committed_at - interval '1 hour'")
                let far = try await quakes(["status", "--max-lag", "1m"], database)
                #expect(far.status == 69)
                #expect(far.errors.contains("reader far is 1 h"))

                _ = try await quakes(["prune", "--keep", "0s", "--keep-at-most", "0s"], database)
                let lost = try await quakes(["status", "--max-lag", "1d"], database)
                #expect(lost.status == 69)
                #expect(
                    lost.errors.contains(
                        "reader far needs a fresh snapshot, because changes that it lacks were pruned"))
            }
        }
    }

    @Test("A feed whose newest document is too old is reported, and --quiet prints nothing else")
    func documentAge() async throws {
        try await server.withDatabase { database in
            let minute = Int(Date.now.timeIntervalSince1970 - 17 * 60) * 1000
            let document =
                "{\"type\":\"FeatureCollection\",\"metadata\":{\"generated\":\(minute)},\"features\":[\(SmallFeed.feature("a"))]}"
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                let feed = http.url("/feed")
                _ = try await quakes(["import", feed], database)
                let quiet = try await quakes(
                    ["status", "--max-age", "15m", "--max-document-age", "1h", "--quiet"], database)
                #expect(quiet.status == 0 && quiet.output == "" && quiet.errors == "")
                let late = try await quakes(["status", "--max-document-age", "15m", "--quiet"], database)
                #expect(late.status == 69 && late.output == "")
                #expect(
                    late.errors.wholeMatch(
                        of: /quakes: the newest document of (\S+) was made 17 min( \d+ s)? ago\n/)?.1
                        == feed[...],
                    "\(late.errors)")
                #expect(try await quakes(["status", "--quiet"], database).status == 64)
            }
        }
    }

    @Test("With --log-format json, a run is one line with all its counts")
    func logLine() async throws {
        try await server.withDatabase { database in
            let feed = SmallFeed.document([SmallFeed.feature("a"), SmallFeed.feature("a")])
            let run = try await quakes(["import", "-", "--log-format", "json"], database, input: feed)
            // Programs that read the log as JSON, such as systemd's journal, often read standard output too.
            #expect(run.output.isEmpty)
            let line = try #require(run.errors.split(separator: "\n").first { $0.contains("run ended") })
            let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            for (name, value) in ["level": "notice", "outcome": "done", "source": "-"] {
                #expect(object[name] as? String == value, "\(name)")
            }
            let numbers = [
                "seen": 2, "inserted": 1, "unchanged": 1, "stale": 0, "superseded": 0, "retracted": 0,
                "rejected": 0, "run": 1, "first_token": 1, "last_token": 1,
            ]
            for (name, value) in numbers { #expect(object[name] as? Int == value, "\(name)") }
            #expect(!line.contains("\"2\"") && object["seconds"] is Double)
        }
    }

    @Test("With --log-format json, a failed run is also one line, even if the database cannot be reached")
    func failedLogLine() async throws {
        try await server.withDatabase { database in
            for (url, status) in [(database.url, 66 as Int32), ("postgresql://127.0.0.1:1/", 69)] {
                let run = try await QuakesCommand().run(
                    "import", "nofile", "--log-format", "json", "--database", url)

                #expect(run.status == status)
                let object = try #require(
                    JSONSerialization.jsonObject(with: Data(run.errors.utf8)) as? [String: Any])
                #expect(object["level"] as? String == "error" && object["source"] as? String == "nofile")
                #expect((object["error"] as? String)?.hasPrefix("cannot ") == true)
                #expect(object["seen"] as? Int == 0)
            }
        }
    }

    @Test(
        "With --log-format json, every line on standard error is JSON",
        arguments: [
            (["list"], 0), (["map"], 0), (["changes"], 0), (["rejects"], 0), (["cite"], 0),
            (["status", "--max-age", "1m"], 69), (["import", "nofile"], 66),
            (["report", "daily_activity"], 0),
        ] as [([String], Int32)])
    func messagesAsJSON(arguments: [String], status: Int32) async throws {
        try await server.withDatabase { database in
            let outcome = try await quakes(arguments + ["--log-format", "json"], database)
            #expect(outcome.status == status)
            let lines = outcome.errors.split(separator: "\n")
            #expect(!lines.isEmpty)
            for line in lines {
                let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                #expect(object?["message"] is String, "\(line)")
            }
        }
    }

    @Test("status --max-age ignores misspelt sources and standard input unless they are named")
    func monitoring() async throws {
        try await server.withDatabase { database in
            let document = SmallFeed.document([SmallFeed.feature("a")])
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                _ = try await quakes(
                    ["import", http.url("/feed"), http.url("/feed").dropLast(2) + ""], database)
                _ = try await quakes(["import", "-"], database, input: document)
            }
            try await database.query("insert into import.run (source, outcome) values ('all_dya', 'failed')")
            try await database.query(
                "update import.run set finished = now() - interval '1 day' where source = '-'")

            let all = try await quakes(["status", "--max-age", "1h"], database)
            #expect(all.status == 0, "\(all.errors)")
            let file = try await quakes(["status", "-", "--max-age", "1h"], database)
            #expect(file.status == 69 && file.errors.contains("- was last imported successfully 1 d ago"))
            let unknown = try await quakes(["status", "all_day", "--max-age", "1h"], database)
            #expect(unknown.status == 66)
            #expect(
                unknown.errors == "quakes: nothing was ever imported from all_day; did you mean all_dya?\n")
            #expect(unknown.output == "")

            let forgotten = try await quakes(["forget", "all_dya"], database)
            #expect(forgotten.status == 0 && forgotten.output == "forgot all_dya and its 1 run\n")
            #expect(try await !quakes(["status"], database).output.contains("all_dya"))
            #expect(try await quakes(["forget", "all_dya"], database).status == 66)
        }
    }

    @Test(
        "status names each feed, the age of its data, the newest event and the number of events"
    )
    func catalogue() async throws {
        try await server.withDatabase { database in
            let day = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query(
                """
                insert into import.run (source, outcome, finished)
                values (\(day), 'done', now()), (\(day.replacing("day", with: "hour")), 'done', now())
                """)
            try await database.query(
                """
                insert into import.feed (source, generated, checked_at)
                values (\(day), '2020-02-03 04:05:06+00', '2020-02-03 04:06:07+00')
                """)

            let status = try await quakes(["status"], database)

            #expect(status.output.hasPrefix("2 earthquakes\nthe newest: 1970-01-01 00:00:01 UTC, "))
            #expect(status.output.contains(#/\nall_day +2020-02-03 04:05:06 {2}/#))
            #expect(status.output.contains("\nall_hour "))
            try await database.query(
                "update quake set time = now() + interval '9 years' where code = (select max(code) from quake)"
            )
            #expect(try await quakes(["status"], database).output.contains(" UTC, in 9 y"))
            try await database.query("update quake set time = '1970-01-01 00:00:01+00' where time > now()")
            let json = try await quakes(["status", "all_day", "--format", "json"], database)
            let object = try #require(
                JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(object["events"] as? Int == 2 && object["events_is_estimate"] as? Bool == false)
            #expect(object["newest_event_time"] as? String == "1970-01-01T00:00:01.000Z")
            let sources = try #require(object["sources"] as? [[String: Any]])
            #expect(sources.count == 1 && sources[0]["generated"] as? String == "2020-02-03T04:05:06.000Z")
        }
    }

    private func quakes(
        _ arguments: [String], _ database: TestDatabase, input: String = ""
    ) async throws -> QuakesCommand.Outcome {
        try await QuakesCommand().run(arguments + ["--database", database.url], input: input)
    }
}
