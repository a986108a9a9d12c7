import Feed
import PostgreSQL
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Selections of the event service")
struct EventSelectionTests {
    @Test("Random requests, of the present and the past, give the same events as an independent selection")
    func oracle() async throws {
        try await TestServer.shared.withDatabase { database in
            var random = seededRandom()
            let past = try await database.makePast(&random)
            let tokens = past.states.keys.sorted()
            let newest = try #require(tokens.last)
            var found = 0
            let requests = rounds(100, of: 300)
            for _ in requests {
                let request = RandomRequest(
                    SplitMix64(seed: random.next()), quakes: past.everything, tokens: tokens)
                let token = request.token ?? newest
                let expected = request.expected(
                    present: past.states[token] ?? [], deleted: past.deleted(at: token))

                let (codes, count) = try await database.codes(
                    try EventRequest(.query, request.query, maximum: 20_000))

                #expect(codes == expected, "\(request.query)")
                #expect(count == expected.count, "\(request.query)")
                found += codes.count
            }
            #expect(3 * found > 10 * requests.count)
        }
    }

    @Test(
        "A deleted event has its last values, the status deleted, and its deletion as the time of its update")
    func tombstone() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("delete from quake where code = 'q0a'")
            var selection = QuakeSelection()
            selection.deleted = .only

            let deleted = try await database.quakes(selection)

            #expect(deleted.map(\.code) == ["q0a"])
            #expect(deleted.first?[.status] == .text("deleted"))
            #expect(deleted.first?.magnitude == 1.5)
            let committed = try await database.query(
                "select floor(extract(epoch from max(committed_at)) * 1000)::bigint as at from history.transaction"
            )
            #expect(deleted.first?.updated.milliseconds == (try committed[0].decode("at")))
        }
    }

    @Test("Text in a request is never interpreted as SQL")
    func quoting() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            for text in ["'", "\\", "';drop table quake;--", "$1", "$$", "é", "E'\\n'"] {
                try await database.query("update quake set magnitude_type = \(text)")
                var selection = QuakeSelection()
                selection.values[.magnitudeType] = [text]
                #expect(try await database.selected(selection).codes == ["q0a"], "\(text)")
                selection.values[.magnitudeType] = [text + "x"]
                #expect(try await database.selected(selection).codes == [], "\(text)")
            }
        }
    }
}

/// The contents of a database at each of its tokens.
private struct Past {
    var states: [Int: [Quake]] = [:]
    /// The time at which each token was committed.
    var committed: [Int: Instant] = [:]

    /// All versions of all events.
    var everything: [Quake] { states.keys.sorted().flatMap { states[$0] ?? [] } }

    /// The events that existed before a token but not at it, with their last values.
    func deleted(at token: Int) -> [Quake] {
        var known: [String: Quake] = [:]
        let present = Set((states[token] ?? []).map(\.code))
        let tokens = states.keys.sorted().filter { $0 <= token }
        for (before, after) in zip(tokens, tokens.dropFirst()) {
            let still = Set((states[after] ?? []).map(\.code))
            for var quake in states[before] ?? [] where !still.contains(quake.code) {
                quake[.status] = .text("deleted")
                quake[.updated] = .time(max(quake.updated, committed[after] ?? quake.updated))
                known[quake.code] = quake
            }
        }
        return known.values.filter { !present.contains($0.code) }
    }
}

extension TestDatabase {
    fileprivate func makePast(_ random: inout SplitMix64) async throws -> Past {
        var past = Past()
        try await importSample(300, seed: random.next())
        try await keep(&past)
        for step in 1...8 {
            switch step % 4 {
            case 0: try await importSample(100, seed: random.next())
            case 1:
                try await query(
                    "delete from quake where code in (select code from quake order by md5(code || \("\(step)")) limit 20)"
                )
            case 2:
                try await query(
                    """
                    update quake set magnitude = null, longitude = longitude - 360 * sign(longitude), depth = null,
                                     type = null, updated = updated + interval '1 hour'
                    where code in (select code from quake order by md5(code || \("\(step)")) limit 30)
                    """)
            default:
                // The last import may have restored the old codes of renamed events, so each step makes different new codes.
                try await query(
                    """
                    update quake set code = code || 'x' || \("\(step)")
                    where code in (select code from quake order by md5(code) limit 5)
                    """)
            }
            try await keep(&past)
        }
        return past
    }

    private func keep(_ past: inout Past) async throws {
        let row = try await query(
            """
            select token, floor(extract(epoch from committed_at) * 1000)::bigint as at
            from history.transaction order by token desc limit 1
            """)[0]
        let token: Int = try row.decode("token")
        past.states[token] = try await quakes(QuakeSelection())
        past.committed[token] = Instant(milliseconds: try row.decode("at"))
    }

    fileprivate func quakes(_ selection: QuakeSelection) async throws -> [Quake] {
        try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }

    fileprivate func codes(_ request: EventRequest) async throws -> (codes: [String], count: Int) {
        try await selected(request.selection)
    }

    fileprivate func selected(_ selection: QuakeSelection) async throws -> (codes: [String], count: Int) {
        try await withConnection { connection in
            let found = Mutex<[String]>([])
            let count = try await selection.read(on: connection) { selected in
                try await selected.forEachRow(of: [.code]) { row in
                    let code = try row.nextBytes().map { String(decoding: $0, as: UTF8.self) }
                    found.withLock { $0.append(code ?? "") }
                }
                return try await selected.count()
            }
            return (found.withLock { $0 }, count)
        }
    }
}
