import QuakeServer
import QuakeStore
import TestSupport
import Testing

@Suite("Closed stretches of the changes")
struct StretchTests {
    private let server = TestServer.shared
    private static let filters = [
        "", "&minmagnitude=2.5", "&maxdepth=300&eventtype=earthquake", "&reviewstatus=all",
    ]

    /// The oracle is the query with the same parameters, as of the stretch's ends.
    @Test("Each leads from the state at its start to that at its end, and is the same for ever")
    func everyStretch() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(10, to: database)
            let newest = try await database.newestToken()
            let positions = try await database.positions()
            let ends = (0...newest).flatMap { start in (start...newest).map { (start, $0) } }
            let early = try await TestSite.run(of: database) { site in
                var bytes: [String: [UInt8]] = [:]
                for (start, end) in ends {
                    for filter in Self.filters {
                        let path =
                            "/changes?after=\(try positions[start].unwrapped)&until=\(try positions[end].unwrapped)\(filter)"
                        let answer = try await site.get(path)
                        try #require(answer.status == 200, "\(answer.text)")
                        // An hour: whoever hides the authors tomorrow would have them in the caches for ever.
                        #expect(answer.headers["cache-control"] == "public, max-age=3600")
                        #expect(answer.events.last?.position?.word == positions[end])
                        bytes[path] = answer.body
                        try await Self.check(answer.events, from: start, to: end, filter, site)
                    }
                }
                return bytes
            }
            try await writer.write(15, to: database)
            try await TestSite.run(of: database) { site in
                for (path, bytes) in early {
                    let late = try await site.get(path)
                    #expect(
                        late.body == bytes, "\(path)\n\(String(decoding: bytes, as: UTF8.self))\n\(late.text)"
                    )
                }
                let path = try #require(early.keys.first)
                let tag = try #require(try await site.get(path).headers["etag"])
                try await waitUntil { try await site.get("/metrics").text.contains("quakes_token ") }
                #expect(try await site.get(path, ["If-None-Match": tag]).status == 304)
            }
        }
    }

    private static func check(
        _ events: [StreamClient.Event], from start: Int, to end: Int, _ filter: String, _ site: TestSite
    ) async throws {
        var replica = StreamReplica()
        replica.rows = try await rows(asOf: start, filter, site)
        try replica.apply(events)
        let expected = try await rows(asOf: end, filter, site)
        #expect(Set(replica.rows.keys) == Set(expected.keys), "\(start) to \(end)\(filter)")
    }

    private static func rows(asOf token: Int, _ filter: String, _ site: TestSite) async throws -> [String:
        String]
    {
        let text = try await site.get("/fdsnws/event/1/query?format=csv&asof=\(token)\(filter)").text
        let codes = text.split(separator: "\n").dropFirst().map {
            String($0.split(separator: ",", omittingEmptySubsequences: false)[11])
        }
        return Dictionary(uniqueKeysWithValues: codes.map { ($0, "") })
    }

    @Test("A pass of the stream is the stretch between its ends, byte for byte")
    func pass() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(4, to: database)
            try await TestSite.run(of: database) { [writer] site in
                var writer = writer
                for filter in ["", "&minmagnitude=2.5"] {
                    let start = try await database.newestToken()
                    try await writer.write(5, to: database)
                    let positions = try await database.positions()
                    let (first, last) = (
                        try positions[start].unwrapped,
                        try positions[try await database.newestToken()].unwrapped
                    )
                    let pass = try await StreamClient.with(site, "after=\(start)\(filter)", events: false) {
                        await $0.events(upTo: start + 1)
                    }
                    try #require(pass.filter(\.isPosition).count == 1)
                    let stretch = try await site.get("/changes?after=\(first)&until=\(last)\(filter)")
                    #expect(stretch.events.map(\.data) == pass.map(\.data))
                }
            }
        }
    }

    @Test("One without authors may be kept for ever")
    func withoutAuthors() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(2, to: database)
            let positions = try await database.positions()
            let ends = "after=\(try positions[1].unwrapped)&until=\(try positions[2].unwrapped)"
            var settings = ServerSettings.patient
            settings.namesAuthors = false
            try await TestSite.run(of: database, settings) { site in
                let answer = try await site.get("/changes?\(ends)")
                #expect(answer.headers["cache-control"] == "public, max-age=31536000, immutable")
                #expect(answer.text.contains("\"author\":null"))
            }
        }
    }

    @Test("What is not there, or not yet, is said; a token alone promises nothing for ever")
    func refused() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(5, to: database)
            let newest = try await database.newestToken()
            try await TestSite.run(of: database) { site in
                let byToken = try await site.get("/changes?after=1&until=\(newest)")
                #expect(byToken.status == 200)
                #expect(byToken.headers["cache-control"] == "public, max-age=0")
                for (query, status, words) in [
                    ("after=1&until=\(newest + 1)", 404, "token \(newest + 1) is unknown here"),
                    ("until=3", 400, "until needs a position or a token"),
                    ("after=3&until=2", 400, "until is before after"),
                    ("after=1&until=2&wait=3", 400, "until and wait exclude each other"),
                    ("after=1&wait=soon", 400, "wait=soon is not a number of seconds"),
                ] {
                    let answer = try await site.get("/changes?\(query)")
                    #expect(answer.status == status, "\(query)")
                    #expect(answer.text.hasPrefix(words), "\(answer.text)")
                }
                try await database.query("select history.prune('0')")
                let gone = try await site.get("/changes?after=1&until=2")
                #expect(gone.status == 410)
                #expect(gone.text.hasPrefix("the history after token 1 was pruned"))
            }
        }
    }
}

extension TestDatabase {
    /// The positions of all tokens, as words; in gaps that of the token before.
    fileprivate func positions() async throws -> [Int: String] {
        let rows = try await query(
            """
            select token, (select concat_ws('_', token, to_char(committed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                                            nonce, store)
                           from (select token, committed_at, nonce from history.transaction
                                 union all select pruned_token, pruned_committed_at, pruned_nonce from history.store) as t,
                                history.store
                           where t.token <= number.token order by t.token desc limit 1) as word
            from generate_series(0, history.current_token()) as number (token)
            """)
        return try Dictionary(
            uniqueKeysWithValues: rows.map {
                (try $0.decode("token", as: Int.self), try $0.decode("word", as: String.self))
            })
    }
}
