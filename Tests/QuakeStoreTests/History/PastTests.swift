import Feed
import PostgreSQL
import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Reading the past")
struct PastTests {
    let server = TestServer.shared

    @Test(
        "Reading the past at any token gives the rows that the table had at that token",
        arguments: rounds(1, of: 4), [false, true])
    func asOfEveryToken(number: Int, hasTriggers: Bool) async throws {
        try await server.withDatabase { database in
            if hasTriggers { try await database.execute(Self.triggers) }
            var random = SplitMix64(seed: UInt64(number))
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
                for code in (0..<6).map({ "q0c\($0)" }) + ["q0c1-3"] {
                    let alone = state.filter { $0.code == code }
                    #expect(
                        try await database.state(.token(token), of: code) == alone, "token \(token), \(code)")
                }
            }
        }
    }

    /// These triggers change a row after it was inserted or changed. Sometimes they delete a row to make room for a new row, or
    /// insert a deleted row again.
    private static let triggers = """
        create function touch() returns trigger language plpgsql as $$
        begin update quake set sig = coalesce(sig, 0) + 1 where code = new.code; return null; end $$;
        create trigger inserted after insert on quake for each row execute function touch();
        create trigger changed after update on quake for each row when (new.sig % 3 > 0) execute function touch();
        create function make_room() returns trigger language plpgsql as $$
        begin delete from quake where code = new.code and sig % 2 = 0; return new; end $$;
        create trigger room before insert on quake for each row execute function make_room();
        create function put_back() returns trigger language plpgsql as $$
        begin
            if old.sig % 4 = 0 then insert into quake values (old.*) on conflict do nothing; end if;
            return null;
        end $$;
        create trigger deleted after delete on quake for each row execute function put_back()
        """

    @Test("A time selects the last token before that time")
    func asOfTime() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            // Times have whole milliseconds, so the first import must be in an earlier millisecond, and the second import in a
            // later millisecond.
            let imported = Instant.now
            try await waitUntil { Instant.now > imported }
            let between = Instant.now
            try await waitUntil { Instant.now > between }
            try await database.importFeatures([SmallFeed.feature("b")])

            #expect(try await database.state(.millisecond(between)).map(\.code) == ["q0a"])
        }
    }

    /// Three transactions are committed within one millisecond, the first exactly at the beginning of the millisecond.
    @Test(
        "A commit's exact time selects its transaction; any other time in milliseconds selects that millisecond's last commit"
    )
    func asOfExactTime() async throws {
        try await server.withDatabase { database in
            try await database.changeThrice()
            try await database.with("-csession_replication_role=replica").query(
                """
                update history.transaction
                set committed_at = date_trunc('second', now()) + interval '1 hour' + (token - 1) * interval '10 microseconds'
                """)
            // `printed` leaves out trailing zeros, as psql does, and `exact` has all six digits.
            let transactions = try await database.query(
                """
                select token, to_json(committed_at) #>> '{}' as printed,
                       to_char(committed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as exact
                from history.transaction order by token
                """)
            let states = [try await database.state(.token(1)), try await database.state(.token(2))]
            let now = try await database.state(nil)
            #expect(transactions.count == 3 && states[0] != states[1] && states[1] != now)
            for (transaction, state) in zip(transactions, states + [now]) {
                for form in ["printed", "exact"] {
                    let text: String = try transaction.decode(form)
                    #expect(try await database.state(PastMoment(time: text)) == state, "\(text)")
                }
                let exact: String = try transaction.decode("exact")
                #expect(
                    try await database.state(PastMoment(time: exact.dropLast(2) + "9Z")) == state, "\(exact)")
            }
            let told = try await database.story().map(\.committedAt.description)
            #expect(try told == transactions.map { try $0.decode("exact") })

            // If nothing was committed at the very beginning of a millisecond, a time in milliseconds means the end of that
            // millisecond.
            try await database.with("-csession_replication_role=replica").query(
                "update history.transaction set committed_at = committed_at + interval '1 microsecond'")
            let exact: String = try transactions[0].decode("exact")
            #expect(try await database.state(PastMoment(time: exact.dropLast(4) + "Z")) == now)
        }
    }

    @Test("A time selects the last token up to that time, even if tokens have gaps or were pruned")
    func everyTime() async throws {
        try await server.withDatabase { database in
            var random = seededRandom()
            for step in 1...40 {
                try await database.change(step, &random)
                if random.chance(1, in: 4) { try await database.query("select nextval('history.token')") }
            }
            for pruned in [0, 7, 1000] {
                try await database.query("select history.prune('0', null, \(pruned)::integer)")
                let moments: [Int] = try await database.query(
                    """
                    select (extract(epoch from committed_at) * 1000000)::bigint + n as at
                    from (select committed_at from history.transaction
                          union all select pruned_committed_at from history.store) as t, generate_series(-1, 1) as n
                    """
                ).map { try $0.decode("at") }
                for moment in moments {
                    let expected = try await database.query(
                        """
                        select coalesce(max(token), max(pruned_token)) as token
                        from history.store left join history.transaction
                          on extract(epoch from committed_at) * 1000000 <= \(moment)::bigint
                        having extract(epoch from max(pruned_committed_at)) * 1000000 <= \(moment)::bigint
                        """
                    ).first?.decode("token", as: Int.self)
                    var selection = QuakeSelection()
                    selection.asOf = .time(CommitTime(microseconds: moment))
                    let found = try? await database.withConnection { connection in
                        try await selection.read(on: connection) { $0.token }
                    }
                    #expect(found == expected, "\(moment)")
                }
            }
        }
    }

    @Test("The past has every digit of a number, regardless of the session's settings")
    func everyDigit() async throws {
        try await server.withDatabase { database in
            let digits = "4.123456789012345"
            try await database.importFeatures([
                SmallFeed.feature("a", magnitude: digits), SmallFeed.feature("b", magnitude: digits),
            ])
            let before = try await database.state(nil)
            try await database.query("update quake set place = 'elsewhere'")
            try await database.query("delete from quake where code = 'q0b'")

            for setting in ["-12", "0", "3"] {
                let blurred = database.with(
                    "-cextra_float_digits=\(setting) -cdatestyle=German -cbytea_output=escape")
                #expect(try await blurred.state(.token(1)) == before, "\(setting)")
                let gone = try await blurred.deleted()
                #expect(gone.map(\.magnitude) == [Double(digits)], "\(setting)")
                let versions = try await blurred.query("select magnitude from report.magnitude_history")
                let magnitudes = try versions.map { try $0.decode("magnitude", as: Double.self) }
                #expect(magnitudes == [4.123456789012345, 4.123456789012345])
            }
        }
    }

    @Test("The past can be read after a column that the user added has changed its type")
    func ownColumn() async throws {
        try await server.withDatabase { database in
            try await database.execute("alter table quake add column note text")
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("update quake set note = 'felt here'")
            let before = try await database.state(nil)
            try await database.query("update quake set magnitude = 2")
            try await database.query("delete from quake where code = 'q0b'")
            try await database.query("update quake set note = '7'")
            try await database.execute("alter table quake alter column note type integer using note::integer")
            try await database.query("update quake set note = 8")

            #expect(try await database.state(.token(2)) == before)
            #expect(try await database.state(.token(2), of: "q0b") == before.filter { $0.code == "q0b" })
            #expect(try await database.deleted().map(\.code) == ["q0b"])
        }
    }

    @Test("A moment that the history does not cover is refused")
    func outOfReach() async throws {
        try await server.withDatabase { database in
            await #expect(throws: PastError.future(0)) { try await database.state(.token(1)) }
            await #expect {
                try await database.state(.millisecond(Instant(milliseconds: 0)))
            } throws: { ($0 as? PastError)?.horizon == 0 }
        }
    }

    @Test("A request for changes after a pruned token fails with the horizon, and never gives a partial list")
    func prunedChanges() async throws {
        try await server.withDatabase { database in
            try await database.changeThrice()
            try await database.query("select history.prune('0', null, 2)")
            let horizon = try await database.query(
                "select (extract(epoch from pruned_committed_at) * 1000000)::bigint as at from history.store")[
                    0]
            let at = CommitTime(microseconds: try horizon.decode("at"))

            await #expect {
                try await database.story(after: 1)
            } throws: {
                "\($0)" == "history does not reach that far back: history begins after token 2, \(at)"
            }
            await #expect {
                try await database.story(after: 0)
            } throws: { ($0 as? PastError)?.horizon == 2 }
            #expect(try await database.story(after: 2).map(\.token) == [3])
            #expect(try await database.story().map(\.token) == [3])
        }
    }

    /// reader: reads the horizon ──── waits for history.change ───────────────────────── reads the changes
    /// prune:                         holds history.change, prunes all history, commits
    @Test(
        "A pruning that commits while the past is being read does not change the result",
        arguments: [true, false])
    func prunedMeanwhile(_ readsTable: Bool) async throws {
        try await server.withDatabase { database in
            try await database.changeThrice()
            let state = try await database.state(.token(1))
            let changes = try await database.story(after: 1).map(\.token)
            #expect(changes == [2, 3])
            try await database.withConnection { pruner in
                try await pruner.execute(
                    script: "begin; lock table history.change in access exclusive mode", to: "hold the reader"
                )
                async let reading = readsTable ? database.state(.token(1)) : []
                async let telling = readsTable ? [] : database.story(after: 1)
                try await waitUntil { try await database.blockedSessions() == 1 }
                try await pruner.execute(script: "select history.prune('0'); commit", to: "prune")

                if readsTable {
                    #expect(try await reading == state)
                } else {
                    #expect(try await telling.map(\.token) == changes)
                }
                _ = try await (reading, telling)
            }
            #expect(try await database.count("history.change") == 0)
        }
    }

    @Test("The history shows the context and the reason of each change, and the old and new values")
    func story() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a", magnitude: "1")])
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, magnitude: "2")])
            try await database.query("update quake set place = 'elsewhere', magnitude = 3")
            try await database.withConnection { connection in
                try await Deletion.delete(["q0a"], reason: "a mistake", on: connection)
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

    @Test("A deletion that names an unknown code deletes nothing")
    func deleteUnknown() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])

            await #expect(throws: Failure(.noInput, "no such earthquake: q0b; nothing was deleted")) {
                try await database.withConnection { connection in
                    try await Deletion.delete(["q0a", "q0b"], reason: nil, on: connection)
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

    fileprivate func state(_ moment: PastMoment?, of code: String? = nil) async throws -> [Quake] {
        var selection = QuakeSelection()
        selection.values[.code] = code.map { [$0] }
        selection.asOf = moment
        return try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }

    fileprivate func deleted() async throws -> [Quake] {
        var selection = QuakeSelection()
        selection.deleted = .only
        return try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }

    /// Makes three changes, which have the tokens 1 to 3.
    fileprivate func changeThrice() async throws {
        try await importFeatures([SmallFeed.feature("a")])
        for magnitude in [2.0, 3.0] { try await query("update quake set magnitude = \(magnitude)") }
    }

    fileprivate func story(after token: Int? = nil) async throws -> [Change] {
        var selection = ChangeSelection()
        selection.after = token
        return try await withConnection { connection in
            let found = Mutex<[Change]>([])
            try await selection.forEach(on: connection) { change in
                found.withLock { $0.append(change) }
            }
            return found.withLock { $0 }
        }
    }
}

extension PastError {
    /// The token after which history begins.
    fileprivate var horizon: Int? { if case .pruned(let horizon) = self { horizon.token } else { nil } }
}
