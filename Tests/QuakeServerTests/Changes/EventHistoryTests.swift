import Foundation
import QuakeServer
import TestSupport
import Testing

@Suite("The history of an event")
struct EventHistoryTests {
    private let server = TestServer.shared

    @Test("The answer has every change that the history keeps, and the event's present row")
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
                // Applying the overwritten values backwards gives the first state.
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

    /// client                                     follows       gets the second change
    /// writer       makes the first change                makes the second change
    @Test(
        "The operator can hide who made a change: in an event's history, and in the stream, late or live")
    func hiddenAuthors() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            @Sendable func change() async throws {
                try await database.execute(
                    """
                    begin; set local history.author = 'sec"ret,\\'; set local history.context = 'secret}';
                    update quake set magnitude = magnitude + 1, extra = '{"author":"shown"}'; commit
                    """)
            }
            try await change()
            var settings = ServerSettings.patient
            settings.namesAuthors = false
            try await TestSite.run(of: database, settings) { site in
                for query in ["after=0", "after=0&minmagnitude=0"] {
                    try await StreamClient.with(site, query) { client in
                        var events = await client.events(upTo: 2)
                        try await waitUntil {
                            try await site.get("/metrics").text.contains("quakes_live_clients 1\n")
                        }
                        try await change()
                        events += await client.pass()
                        let changes = events.filter(\.isChange)
                        #expect(changes.count >= 9)
                        #expect(changes.allSatisfy { $0.members["author"] is NSNull })
                        #expect(changes.allSatisfy { $0.members["context"] is NSNull })
                        #expect(!client.text.contains("ret,") && client.text.contains("shown"))
                    }
                }
                let story = try await site.get("/history/usc1").text
                #expect(!story.contains("ret,") && !story.contains("secret}") && story.contains("shown"))
                #expect(story.contains("\"author\":null,\"context\":null,\"ordinal\":"))
            }
        }
    }

    @Test(
        "As soon as a client has received an event's change, the old tag of the event's history gets no 304")
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
                        // The change arrives as soon as it is sent, before the end of its pass.
                        while let event = await client.next(), !event.isChange {}
                        #expect(try await site.get("/history/usc0", ["If-None-Match": tag]).status == 200)
                        _ = await client.pass()
                    }
                }
            }
        }
    }

    @Test("A deleted event also has a history, and an unknown event is 404")
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
