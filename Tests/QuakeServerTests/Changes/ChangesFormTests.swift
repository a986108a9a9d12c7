import QuakeServer
import TestSupport
import Testing

@Suite("The form of the stream of changes")
struct ChangesFormTests {
    private let server = TestServer.shared

    @Test("A new stream sends all rows and a position, and then each change, as Server-Sent Events")
    func events() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                try await StreamClient.with(site) { client in
                    let snapshot = await client.pass()
                    #expect(client.status == 200)
                    #expect(client.head.contains("Content-Type: text/event-stream; charset=utf-8\r\n"))
                    #expect(client.head.contains("Cache-Control: no-store\r\n"))
                    #expect(client.text.wholeMatch(of: #/retry: \d+\n\n(?s:.*)/#) != nil)
                    #expect(snapshot.map(\.name) == ["snapshot", "row", "row", "row", "position"])
                    #expect(snapshot[0].data == #"{"snapshot":"first start"}"#)
                    #expect(snapshot.dropLast().allSatisfy { $0.id == nil })
                    let token = try #require(snapshot[4].members["token"] as? Int)
                    let store = try #require(snapshot[4].members["store"] as? String)
                    let time = try #require(snapshot[4].members["committed_at"] as? String)
                    let nonce = try #require(snapshot[4].members["nonce"] as? String)
                    #expect(snapshot[4].id == "\(token)_\(time)_\(nonce)_\(store)")

                    try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                    let pass = await client.pass()
                    #expect(pass.map(\.name) == ["change", "position"])
                    #expect(pass[0].data.hasPrefix(#"{"token":\#(token + 1),"committed_at":""#))
                    #expect(pass[0].data.contains(#""before":{"magnitude": 0.1},"row":{"#))
                    #expect(pass[0].members["selected"] == nil)
                }
            }
        }
    }

    @Test(
        "Without a request for Server-Sent Events, the same changes arrive as the lines that quakes follow writes"
    )
    func lines() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let events = try await StreamClient.with(site) { client in
                    let first = await client.pass()
                    try await database.query("delete from quake where code = 'usc1'")
                    return first + (await client.pass())
                }
                try await StreamClient.with(site, "after=0", events: false) { client in
                    #expect(client.head.contains("Content-Type: application/x-ndjson; charset=utf-8\r\n"))
                    let lines = await client.events(upTo: 2)
                    #expect(lines.last?.data == events.last?.data)
                }
                try await StreamClient.with(site, events: false) { client in
                    let lines = await client.pass()
                    let command = try await QuakesCommand().run(
                        "follow", "--format", "ndjson", "--once", "--database", database.url)
                    #expect(lines.map { $0.data + "\n" }.joined() == command.output)
                }
            }
        }
    }

    @Test("With after=now, a stream sends no snapshot; a HEAD request gets the stream's head")
    func now() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                try await StreamClient.with(site, "after=now") { client in
                    #expect(await client.pass().map(\.name) == ["position"])
                    try await database.query("delete from quake where code = 'usc1'")
                    #expect(await client.pass().map(\.name) == ["change", "position"])
                }
                let head = try await site.get("/changes", method: "HEAD")
                #expect(head.status == 200)
                #expect(head.headers["content-type"] == "application/x-ndjson; charset=utf-8")
            }
        }
    }

    @Test("An idle stream sends heartbeats, which are comments among events and empty lines among lines")
    func heartbeat() async throws {
        try await server.withDatabase { database in
            var settings = ServerSettings.patient
            settings.heartbeat = .milliseconds(30)
            try await TestSite.run(of: database, settings) { site in
                try await forEachCase(of: [true, false]) { isEvents in
                    try await StreamClient.with(site, "after=now", events: isEvents) { client in
                        _ = await client.pass()
                        await client.waitForText(isEvents ? "\n\n:\n\n:\n\n" : "\n\n\n")
                        try await database.query(
                            """
                            insert into quake (code, net, net_code, time, updated, longitude, latitude)
                            values (\(isEvents ? "us1" : "us2"), 'us', '', now(), now(), 0, 0)
                            """)
                        #expect(await client.pass().count == 2, "events: \(isEvents)")
                    }
                }
            }
        }
    }

    /// Queries, each with the reason for its refusal.
    private static let refusals = [
        ("limit=5", "limit cannot be used for changes"), ("asof=1", "asof cannot be used for changes"),
        ("minmagnitud=5", "unknown parameter: minmagnitud; did you mean minmagnitude?"),
        ("minmagnitude=x", "minmagnitude=x is not a decimal number"),
        ("after=yesterday", "after=yesterday is neither a position, nor a token, nor now"),
        ("after=1&after=2", "after is given more than once"),
    ]

    @Test("An invalid request is refused with a reason")
    func refused() async throws {
        try await server.withDatabase { database in
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: Self.refusals) { query, reason in
                    let answer = try await site.get("/changes?\(query)")
                    #expect(answer.status == 400, "\(query)")
                    #expect(answer.text == "\(reason)\n", "\(query)")
                }
            }
        }
    }
}
