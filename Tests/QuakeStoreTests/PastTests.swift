import Feed
import PostgreSQL
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("The past")
struct PastTests {
    let server = TestServer.shared

    @Test(
        "After any history, the table as of each token is what it was at that token",
        arguments: 1...4 as ClosedRange<UInt64>)
    func asOfEveryToken(seed: UInt64) async throws {
        try await server.withDatabase { database in
            var random = SplitMix64(seed: seed)
            var states = [0: try await database.state(nil)]
            for step in 1...25 {
                try await database.change(step, &random)
                let token: Int = try await database.query("select history.current_token() as token")[0]
                    .decode("token")
                states[token] = try await database.state(nil)
            }

            #expect(states.count > 10)
            for (token, state) in states {
                #expect(try await database.state(.token(token)) == state, "token \(token)")
            }
        }
    }

    @Test("A time selects the last token before it")
    func asOfTime() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            // Times are whole milliseconds: the first import must be in an earlier one, the second in a later one.
            let imported = Instant.now
            try await waitUntil { Instant.now > imported }
            let between = Instant.now
            try await waitUntil { Instant.now > between }
            try await database.importFeatures([SmallFeed.feature("b")])

            #expect(try await database.state(.time(between)).map(\.code) == ["q0a"])
        }
    }

    @Test("A moment that the history does not cover is refused")
    func outOfReach() async throws {
        try await server.withDatabase { database in
            await #expect(throws: PastError.future(0)) { try await database.state(.token(1)) }
            await #expect(throws: PastError.pruned(0)) {
                try await database.state(.time(Instant(milliseconds: 0)))
            }
        }
    }

    @Test("The history of an earthquake says who changed which column, with the old and the new value")
    func story() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a", magnitude: "1")])
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "2")])
            try await database.query("update quake set place = 'elsewhere', magnitude = 3")
            try await database.withConnection { connection in
                try await Deletion(codes: ["q0a"], reason: "a mistake").run(on: connection)
            }

            let changes = try await database.story()

            #expect(changes.map(\.operation) == [.insert, .update, .update, .delete])
            #expect(changes.map(\.context) == ["run 1", "run 2", nil, nil])
            #expect(
                changes[1].members.first { $0.column == "magnitude" }
                    == .init(column: "magnitude", old: "1", new: "2"))
            #expect(
                changes[2].members == [
                    .init(column: "magnitude", old: "2", new: "3"),
                    .init(column: "place", old: "\"somewhere\"", new: "\"elsewhere\""),
                ])
            #expect(changes[3].reason == "a mistake")
        }
    }

    @Test("Deleting an unknown code deletes none of the others")
    func deleteUnknown() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])

            await #expect(throws: UnknownCodes(codes: ["q0b"])) {
                try await database.withConnection { connection in
                    try await Deletion(codes: ["q0a", "q0b"], reason: nil).run(on: connection)
                }
            }

            #expect(try await database.count("quake") == 1)
        }
    }
}

extension TestDatabase {
    /// One random transaction: an import, a change by hand, a new key, or a deletion.
    fileprivate func change(_ step: Int, _ random: inout SplitMix64) async throws {
        let code = "c\(random.below(6))"
        switch random.below(6) {
        case 0: try await query("delete from quake where code = \("q0" + code)")
        case 1: try await query("update quake set felt = \(step), extra = null where code = \("q0" + code)")
        case 2: try await query("update quake set code = code || \("-\(step)") where code = \("q0" + code)")
        default:
            let features = (0..<random.below(5)).map { _ in
                SmallFeed.feature(
                    "c\(random.below(6))", updated: 1000 + step, place: "\(step)",
                    more: "\"new\":\(step)")
            }
            try await importFeatures(features)
        }
    }

    fileprivate func state(_ moment: PastMoment?) async throws -> [Quake] {
        var selection = QuakeSelection()
        selection.asOf = moment
        return try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }

    fileprivate func story() async throws -> [Change] {
        try await withConnection { connection in
            let found = Mutex<[Change]>([])
            try await ChangeSelection().forEach(on: connection) { change in
                found.withLock { $0.append(change) }
            }
            return found.withLock { $0 }
        }
    }
}
