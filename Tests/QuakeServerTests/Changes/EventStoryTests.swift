import Foundation
import TestSupport
import Testing

@Suite("The story of an event")
struct EventStoryTests {
    private let server = TestServer.shared

    @Test("It has every change that the history keeps, and the event as it is")
    func story() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.query("update quake set magnitude = 5, place = null where code = 'usc1'")
            try await database.query("update quake set magnitude = 6")
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                let answer = try await site.get("/history/usc1")
                #expect(answer.status == 200)
                #expect(answer.headers["content-type"] == "application/x-ndjson; charset=utf-8")
                let lines = try Self.lines(answer)
                #expect(
                    lines.dropLast().map { $0["operation"] as? String } == ["insert", "update", "update"])
                #expect(lines.dropLast().allSatisfy { $0["row"] == nil })
                let row = try #require(lines.last?["row"] as? [String: Any])
                #expect(row["magnitude"] as? Double == 6)
                // What was overwritten, put back from the end, is the first state.
                var state = row
                for line in lines.dropLast().reversed() {
                    state.merge(line["before"] as? [String: Any] ?? [:]) { $1 }
                }
                #expect(state["magnitude"] as? Double == 0.1)
                #expect(state["place"] as? String == "5 km N of \"Ünder\\Wood\"")

                let tag = try #require(answer.headers["etag"])
                try await waitUntil {
                    try await site.get("/history/usc1", ["If-None-Match": tag]).status == 304
                }
                #expect(answer.headers["quakes-position"]?.hasPrefix("3_") == true)
            }
        }
    }

    @Test("Who has just been told of a change is never told that the event is unchanged")
    func justTold() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(1).document)
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                try await StreamClient.with(site, "after=now") { client in
                    _ = await client.pass()
                    for number in 1...50 {
                        let tag = try #require(try await site.get("/history/usc0").headers["etag"])
                        try await database.query(
                            "update quake set place = \("\(number)") where code = 'usc0'")
                        // Heard as soon as it is sent: the pass has not ended yet.
                        while let event = await client.next(), !event.isChange {}
                        #expect(try await site.get("/history/usc0", ["If-None-Match": tag]).status == 200)
                        _ = await client.pass()
                    }
                }
            }
        }
    }

    @Test("An event that is gone has one too, and one that never was is 404")
    func gone() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.query("delete from quake where code = 'usc1'")
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                let lines = try Self.lines(try await site.get("/history/usc1"))
                #expect(lines.dropLast().map { $0["operation"] as? String } == ["insert", "delete"])
                #expect(lines.last?["row"] is NSNull)
                #expect(try await site.get("/history/us%27%3B").status == 404)
                try await database.query("select history.prune('0')")
                #expect(try await site.get("/history/usc1").status == 404)
                #expect(try Self.lines(try await site.get("/history/usc0")).count == 1)
            }
        }
    }

    private static func lines(_ answer: TestAnswer) throws -> [[String: Any]] {
        try answer.text.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }
}
