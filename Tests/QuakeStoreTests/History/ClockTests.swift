import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Covers a server whose clock was ahead and was then corrected. After the correction, commit times still continue from the time
/// that the fast clock showed.
@Suite("The history's clock")
struct ClockTests {
    let server = TestServer.shared

    @Test(
        "If a pruning finds commit times in the future, the age of this history counts from that pruning"
    )
    func jumpAhead() async throws {
        try await server.withDatabase { database in
            try await database.change()
            try await database.jumpAhead()
            try await database.change()
            try await database.change()
            let ahead = try await database.query(
                "select bool_and(committed_at > now() + interval '364 days') as is_ahead from history.transaction where token > 1"
            )
            #expect(try ahead[0].decode("is_ahead") == true)

            #expect(try await database.prune("30 days") == [0, 0, 3])
            try await database.change()
            try await database.pass(days: 29)
            #expect(try await database.prune("30 days") == [0, 0, 3])
            try await database.pass(days: 2)
            // Tokens 1 to 3 are 31 days old. Token 4 is newer, but the history does not record its age.
            #expect(try await database.prune("30 days") == [3, 3, 3])
            #expect(try await database.prune("30 days") == [0, 3, 4])
            try await database.pass(days: 31)
            #expect(try await database.prune("30 days") == [1, 4, 4])

            let row = try await database.query(
                "select history.check(p.store, p.token, p.committed_at, p.nonce) as answer from history.position() as p"
            )
            #expect(try row[0].decode("answer") == "ok")
        }
    }

    /// original: change, change ──────────────────────────── change
    /// copy:                      restored from a backup ─────────────── change with the same token and time
    @Test(
        "A restored copy is never mistaken for the original, even if the clock was once ahead",
        arguments: [false, true])
    func restoredCopy(isPruned: Bool) async throws {
        try await server.withDatabase { original in
            try await original.change()
            try await original.jumpAhead()
            try await original.change()
            try await server.withCopy(of: original) { copy in
                let view = MemoryView()
                try await original.change()
                try await original.catchUp(view)
                try await copy.change()
                try await copy.query("update quake set sig = 7")
                if isPruned { try await copy.query("select history.prune('0', null, 3)") }
                let time: Query = """
                    select coalesce((select committed_at from history.transaction where token = 3), pruned_committed_at)::text
                           as text from history.store
                    """
                let own: String = try await copy.query(time)[0].decode("text")
                #expect(try await original.query(time)[0].decode("text") == own)

                try await copy.catchUp(view)

                #expect(view.now.starts == [.first, .otherTransaction(3)])
            }
        }
    }

    @Test("Each commit has a later time than the one before, even after a jump of the clock")
    func growing() async throws {
        try await server.withDatabase { database in
            try await database.jumpAhead()
            for _ in 0..<5 { try await database.change() }
            let times = try await database.query(
                """
                select committed_at > lag(committed_at, 1, '-infinity') over (order by token) as is_later
                from history.transaction where token is not null
                """)
            #expect(times.count == 5)
            #expect(try times.allSatisfy { try $0.decode("is_later") })
        }
    }

    @Test("After a jump of the clock, all history can be pruned at once")
    func everything() async throws {
        try await server.withDatabase { database in
            try await database.jumpAhead()
            for _ in 0..<5 { try await database.change() }
            let outcome = try await database.withConnection {
                try await Pruning(keep: .zero, keepAtMost: nil).run(on: $0)
            }
            #expect(outcome.transactions == 5 && outcome.changes == 5 && outcome.horizon == 5)
        }
    }

    @Test(
        "While the clock is right, age counts from the commit, even if an earlier pruning noted another time")
    func right() async throws {
        try await server.withDatabase { database in
            try await database.change()
            #expect(try await database.prune("30 days") == [0, 0, nil])
            // A pruning that ran while the clock was behind would have left these values.
            try await database.query("update history.store set seen_token = 1, seen_at = '2000-01-01'")
            #expect(try await database.prune("30 days") == [0, 0, 1])
            try await database.pass(days: 31)
            #expect(try await database.prune("30 days") == [1, 1, 1])
        }
    }

    @Test("A dead reader's lag is reported, even if the clock was once ahead", arguments: [false, true])
    func deadReader(diedAhead: Bool) async throws {
        try await server.withDatabase { database in
            try await database.change()
            try await database.jumpAhead()
            try await database.change()
            try await database.query("select history.report('dead', 2), history.report('alive', 2)")
            try await database.change()
            let seen = diedAhead ? "1 year" : "-2 hours"
            try await database.query(
                "update history.reader set seen_at = now() + \(seen)::interval where name = 'dead'")
            try await database.query(
                "update history.store set pruned_committed_at = now() - interval '3 hours'")

            let readers = try await database.withConnection { try await HistoryStatus.read(on: $0) }.readers

            #expect(readers.map(\.name) == ["alive", "dead"])
            #expect(readers[0].behind < .seconds(3600))
            #expect(readers[1].behind > .seconds(diedAhead ? 10_000 : 7000))
            try await database.query("select history.report('dead', 3), history.report('alive', 3)")
            let caughtUp = try await database.withConnection { try await HistoryStatus.read(on: $0) }.readers
            #expect(caughtUp.map(\.behind) == [.zero, .zero])
        }
    }

    @Test(
        "A named reader keeps history from being pruned, unless the reader was last seen in the future",
        arguments: [true, false])
    func reader(_ isAhead: Bool) async throws {
        try await server.withDatabase { database in
            try await database.change()
            try await database.query("select history.report('lost', 0)")
            if isAhead {
                try await database.query("update history.reader set seen_at = now() + interval '1 year'")
            }
            #expect(try await database.prune("0")[0] == (isAhead ? 1 : 0))
        }
    }

    @Test("Pruning names the reader for which history is kept, and ignores a reader last seen in the future")
    func namedReader() async throws {
        try await server.withDatabase { database in
            for _ in 0..<2 { try await database.change() }
            try await database.query("select history.report('lost', 0), history.report('slow', 1)")
            try await database.query(
                "update history.reader set seen_at = now() + interval '1 year' where name = 'lost'")
            let outcome = try await database.withConnection {
                try await Pruning(keep: .zero, keepAtMost: nil).run(on: $0)
            }
            #expect(outcome.transactions == 1 && outcome.horizon == 1 && outcome.keptFor == "slow")
        }
    }
}

extension TestDatabase {
    fileprivate func change() async throws {
        try await query(
            """
            insert into quake (code, net, net_code, sig, time, updated, longitude, latitude)
            values ('a', 'q0', 'a', 1, now(), now(), 1, 2)
            on conflict (code) do update set sig = quake.sig + 1
            """)
    }

    /// Sets the history's clock to the value that a commit leaves while the server's clock is a year ahead.
    fileprivate func jumpAhead() async throws {
        try await query(
            "select setval('history.clock', (extract(epoch from now() + interval '365 days') * 1000000)::bigint)"
        )
    }

    /// Moves all past times back by `days`, as if that many days had passed.
    fileprivate func pass(days: Int) async throws {
        try await query("update history.store set seen_at = seen_at - \(days) * interval '1 day'")
        try await query(
            "update history.transaction set committed_at = committed_at - \(days) * interval '1 day' where committed_at <= now()"
        )
    }

    /// Prunes, and returns the number of pruned transactions, the horizon, and `seen_token`.
    fileprivate func prune(_ keep: String) async throws -> [Int?] {
        let pruned = try await query("select transactions from history.prune(\(keep)::interval)")[0]
        let store = try await query("select pruned_token, seen_token from history.store")[0]
        return [
            try pruned.decode("transactions"), try store.decode("pruned_token"),
            try store.decodeIfPresent("seen_token"),
        ]
    }
}
