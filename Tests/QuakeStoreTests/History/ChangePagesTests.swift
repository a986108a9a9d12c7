import Feed
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("The history, read page by page")
struct ChangePagesTests {
    let server = TestServer.shared

    @Test("Every selection and limit gives the same changes as undoing the whole history from its end")
    func equalsTheWhole() async throws {
        try await server.withDatabase { database in
            var random = seededRandom()
            try await database.write(&random)
            let whole = try await database.undone()
            let newest = whole.last?.token ?? 0
            #expect(whole.count > 2000)

            for _ in rounds(10, of: 25) {
                var selection = ChangeSelection()
                selection.describesEvents = true
                if random.chance(1, in: 2) { selection.after = random.below(newest + 1) }
                if random.chance(1, in: 3) { selection.author = ["a", "b", "nobody"][random.below(3)] }
                if random.chance(1, in: 3) { selection.code = "q0c\(random.below(40))" }
                if random.chance(1, in: 2) { selection.limit = [0, 1, 20, 101, 1500][random.below(5)] }

                let matching = whole.filter {
                    $0.token > selection.after ?? 0 && (selection.code ?? $0.code) == $0.code
                        && (selection.author ?? $0.author) == $0.author
                }
                var expected = matching
                if let limit = selection.limit {
                    // With `after`, the transaction that reaches the limit is returned as a whole.
                    let last = limit == 0 ? 0 : matching.dropFirst(limit - 1).first?.token ?? .max
                    expected = Array(
                        selection.after == nil
                            ? matching.suffix(limit) : matching.prefix { $0.token <= last })
                }
                let (found, hasMore) = try await database.read(selection)
                #expect(found.elementsEqual(expected), "\(selection)")
                #expect(hasMore == (expected.count < matching.count), "\(selection)")
            }
        }
    }

    @Test(
        "The changes of earthquakes are all listed, without the changes of another tracked table"
    )
    func otherTable() async throws {
        try await server.withDatabase { database in
            try await database.query("create table note (id text primary key)")
            try await database.query("select history.track('note', 'id', 'notes')")
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("insert into note select n::text from generate_series(1, 500) as n")
            try await database.importFeatures([SmallFeed.feature("b")])
            try await database.query("insert into note select n::text from generate_series(501, 999) as n")

            var selection = ChangeSelection()
            #expect(try await database.read(selection).0.map(\.token) == [1, 3])
            selection.limit = 1
            #expect(try await database.read(selection).0.map(\.token) == [3])
            selection.after = 0
            #expect(try await database.read(selection).0.map(\.token) == [1])
        }
    }

    @Test(
        "With `up_to`, history.changes ends at that token, and the last change of each key has the present row"
    )
    func upTo() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("update quake set magnitude = 2 where code = 'q0a'")
            try await database.query("update quake set magnitude = 3")

            let rows = try await database.query(
                "select token, key, \"row\" ->> 'magnitude' as magnitude from history.changes(0, 'quake', 2)")

            let told = try rows.map { row in
                "\(try row.decode("token", as: Int.self)) \(try row.decode("key", as: String.self))"
                    + " \(try row.decodeIfPresent("magnitude", as: String.self) ?? "-")"
            }
            #expect(told == ["1 q0a -", "1 q0b 3", "2 q0a 3"])
        }
    }
}

/// The content of a change.
private struct Told: Equatable {
    let token: Int
    let author: String
    let ordinal: Int
    let code: String
    let operation: String
    /// Old and new values by column.
    var members: [String: [String]] = [:]
    var magnitude: String?
    var place: String?
}

extension TestDatabase {
    /// Writes one large transaction, and 150 small ones by two authors.
    fileprivate func write(_ random: inout SplitMix64) async throws {
        try await importFeatures((0..<600).map { SmallFeed.feature("c\($0)", place: "at \($0)") })
        for step in 1...150 {
            let code = "q0c\(random.below(40))"
            let author = ["a", "b"][random.below(2)]
            let change =
                switch random.below(5) {
                case 0: "delete from quake where code = '\(code)'"
                case 1: "update quake set place = 'step \(step)', extra = null where code = '\(code)'"
                case 2: "update quake set magnitude = \(step) / 20.0, types = '{a,b}' where code < '\(code)'"
                case 3: "update quake set code = code || '-\(step)' where code = '\(code)'"
                default:
                    """
                    insert into quake (code, net, net_code, time, updated, longitude, latitude, place)
                    values ('\(code)', 'q0', 'x', 'epoch', 'epoch', 0, 0, 'new') on conflict do nothing
                    """
                }
            try await execute("set history.author = '\(author)'; \(change); reset history.author")
        }
    }

    /// The history according to an independent oracle: it takes the present rows and undoes one change after the other.
    fileprivate func undone() async throws -> [Told] {
        var rows: [String: [String: String]] = [:]
        for row in try await query(
            "select code, e.key, e.value::text from quake, jsonb_each(to_jsonb(quake)) as e")
        {
            rows[try row.decode("code"), default: [:]][try row.decode("key")] = try row.decode(
                "value", as: String.self)
        }
        var told: [Told] = []
        var befores: [[String: String]] = []
        for row in try await query(
            """
            select token, author, ordinal, c.key, operation, e.key as name, e.value::text
            from history.transaction t join history.change c on c.transaction = t.id
            left join jsonb_each(before) as e on true
            order by token, ordinal
            """)
        {
            let change = Told(
                token: try row.decode("token"), author: try row.decode("author"),
                ordinal: try row.decode("ordinal"),
                code: try row.decode("key"), operation: try row.decode("operation"))
            if told.last != change {
                told.append(change)
                befores.append([:])
            }
            if let name = try row.decodeIfPresent("name", as: String.self) {
                befores[befores.count - 1][name] = try row.decode("value", as: String.self)
            }
        }
        for index in told.indices.reversed() {
            let code = told[index].code
            switch told[index].operation {
            case "insert":
                (told[index].magnitude, told[index].place) = (rows[code]?["magnitude"], rows[code]?["place"])
                rows[code] = nil
            case "delete":
                rows[code] = befores[index]
                (told[index].magnitude, told[index].place) = (rows[code]?["magnitude"], rows[code]?["place"])
            default:
                for (name, old) in befores[index] {
                    told[index].members[name] = [old, rows[code]?[name] ?? "null"]
                    rows[code]?[name] = old
                }
            }
        }
        return told
    }

    fileprivate func read(_ selection: ChangeSelection) async throws -> ([Told], Bool) {
        try await withConnection { connection in
            let found = Mutex<[Told]>([])
            let hasMore = try await selection.forEach(on: connection) { change in
                found.withLock { $0.append(Told(change)) }
            }
            return (found.withLock { $0 }, hasMore)
        }
    }
}

extension Told {
    fileprivate init(_ change: Change) {
        self.init(
            token: change.token, author: change.author, ordinal: change.ordinal, code: change.code,
            operation: change.operation.rawValue)
        members = Dictionary(uniqueKeysWithValues: change.members.map { ($0.column, [$0.old, $0.new]) })
        guard operation != "update" else { return }
        magnitude = change.magnitude.map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" } ?? "null"
        place = change.place.map { "\"\($0)\"" } ?? "null"
    }
}
