import Feed
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Following")
struct FollowTests {
    let server = TestServer.shared
    private static let rarely = PollInterval(listening: .seconds(3600))

    @Test("The first pass is a snapshot, and later passes contain only what has changed since")
    func passes() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            let view = MemoryView()

            try await database.catchUp(view)
            #expect(view.now.starts == [.first])
            #expect(view.now.changes.isEmpty)
            #expect(view.now.rows.keys.sorted() == ["q0a", "q0b"])

            try await database.importFeatures([
                SmallFeed.feature("b", updated: 2000, magnitude: "2"), SmallFeed.feature("c"),
            ])
            try await database.query("delete from quake where code = 'q0a'")
            try await database.catchUp(view)
            #expect(view.now.starts == [.first])
            #expect(view.now.changes == ["2.1", "2.2", "3.1"])
            #expect(view.now.rows.keys.sorted() == ["q0b", "q0c"])

            try await database.catchUp(view)
            #expect(view.now.passes == 2, "there is no pass if there is nothing to apply")
        }
    }

    @Test("A row that was inserted and deleted, or deleted and inserted again, ends in the right state")
    func backAndForth() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = MemoryView()
            try await database.catchUp(view)

            try await database.importFeatures([SmallFeed.feature("b")])
            try await database.query("delete from quake")
            try await database.importFeatures([SmallFeed.feature("a", place: "back")])
            try await database.catchUp(view)

            #expect(view.now.rows.keys.sorted() == ["q0a"])
            #expect(view.now.changes.count == 4)
        }
    }

    @Test("A notification wakes a follower that polls only once an hour")
    func notified() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = MemoryView()
            try await database.following(view, poll: Self.rarely) {
                try await waitUntil { view.now.position != nil }
                for magnitude in 1...5 {
                    try await database.setMagnitude(Double(magnitude))
                    try await database.waitForCatchUp(of: view)
                }
            }
            #expect(view.now.starts == [.first])
        }
    }

    @Test("After a lost notification, a change arrives with the next poll")
    func lostNotification() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.withoutNotifications()
            let view = MemoryView()
            try await database.following(view, poll: PollInterval(listening: .milliseconds(100))) {
                try await waitUntil { view.now.position != nil }
                try await database.setMagnitude(2)
                try await database.waitForCatchUp(of: view)
            }
        }
    }

    @Test("Unusual values arrive unchanged, except that times are cut to milliseconds")
    func values() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature(
                    "a", magnitude: "null", more: "\"new\":{\"deep\":[1,null]},\"ids\":\",x,y,\"")
            ])
            try await database.query(
                """
                update quake set time = '1889-03-11 12:00:00.0015+00', felt = -2147483648, tsunami = true,
                    magnitude = 1e-300, place = '', title = E'tab\\tquote" \\\\ \\U0001F30B', depth = '-0',
                    gap = 1.7976931348623157e308
                """)
            let view = MemoryView()
            try await database.catchUp(view)

            let row = try #require(view.now.rows["q0a"])
            let values = Dictionary(uniqueKeysWithValues: zip(view.now.columns.map(\.name), row))
            #expect(values["time"] == "1889-03-11T12:00:00.001Z")
            #expect(values["felt"] == "-2147483648")
            #expect(values["tsunami"] == "true")
            #expect(values["magnitude"] == "1e-300")
            #expect(values["place"] == "")
            #expect(values["title"] == "tab\tquote\" \\ 🌋")
            #expect(values["depth"] == "-0.0")
            #expect(values["gap"] == "1.7976931348623157e+308")
            #expect(values["ids"] == "[\"x\",\"y\"]")
            #expect(values["extra"] == "{\"new\": {\"deep\": [1, null]}}")
            #expect(values["alert"] == "null")
        }
    }

    // MARK: Positions that are no longer valid

    @Test("A reader whose position is no longer valid gets a fresh snapshot", arguments: Loss.allCases)
    func freshStart(_ loss: Loss) async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.setMagnitude(2)
            let (view, log) = (MemoryView(), RecordedLog())
            try await database.catchUp(view)
            try await database.setMagnitude(3)
            try await database.setMagnitude(4)

            try await database.query(loss.statement)
            try await database.catchUp(view, logger: log.logger)

            #expect(view.now.starts == [.first, loss.freshStart])
            #expect(
                log.lines.contains {
                    $0.hasPrefix("notice: \(loss.freshStart); taking a fresh snapshot at token")
                })
            try await database.catchUp(view)
            #expect(view.now.starts.count == 2)
        }
    }

    /// A way in which the position or the rows of a reader at token 2 become invalid while the reader is disconnected.
    enum Loss: CaseIterable {
        case pruned, otherStore, future, otherTransaction, otherNonce, altered

        var statement: Query {
            switch self {
            case .pruned: "select history.prune('0', null, 3)"
            case .otherStore: "update history.store set store = gen_random_uuid()"
            case .future: "delete from history.transaction where token >= 2"
            case .otherTransaction:
                "update history.transaction set committed_at = committed_at + interval '1 microsecond' where token = 2"
            case .otherNonce: "update history.transaction set nonce = '00000000' where token = 2"
            case .altered: "alter table quake add column revision integer default 1"
            }
        }

        var freshStart: FreshStart {
            switch self {
            case .pruned: .pruned(after: 2)
            case .otherStore: .otherStore
            case .future: .future(2, newest: 1)
            case .otherTransaction, .otherNonce: .otherTransaction(2)
            case .altered: .altered
            }
        }
    }

    @Test("A column that is added while a follower listens arrives with a fresh snapshot")
    func columnAdded() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = MemoryView()
            try await database.following(view, poll: Self.rarely) {
                try await waitUntil { view.now.position != nil }
                try await database.query("alter table quake add column revision integer default 7")
                try await database.setMagnitude(2)
                try await waitUntil { view.now.starts == [.first, .altered] }
            }
            #expect(view.now.rows["q0a"]?.last == "7")
        }
    }

    /// view:    first pass ─────────────── ends   second pass ── waits for the table ── snapshot ── reads
    /// another:    changes rows ── waits ── locks the table, rewrites it ─────── commits
    @Test(
        "A pass that waits while the table is rewritten never mistakes the table for empty",
        arguments: [true, false])
    func rewritten(differently: Bool) async throws {
        let alteration = differently ? Alteration.rewriting : .moving
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            let altering = Mutex<Task<Void, any Error>?>(nil)
            let view = MemoryView(duringPass: {
                guard altering.withLock({ $0 == nil }) else { return }
                try await database.setMagnitude(2)
                altering.withLock {
                    $0 = Task {
                        try await database.withConnection { connection in
                            try await connection.execute(
                                script: "begin; \(alteration.statement)", to: "alter")
                            // The second pass waits for the lock.
                            try await waitUntil { try await database.blockedSessions() == 1 }
                            try await connection.execute(script: "commit", to: "alter")
                        }
                    }
                }
                try await waitUntil { try await database.blockedSessions() == 1 }
            })
            try await database.following(view, poll: Self.rarely) {
                try await waitUntil { altering.withLock { $0 != nil } }
                try await altering.withLock { $0 }?.value
                try await database.setMagnitude(3)
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.starts == (differently ? [.first, .altered] : [.first]))
            #expect(view.now.rows.keys.sorted() == ["q0a", "q0b"])
        }
    }

    /// A server with little space for temporary files cannot sort a long history as a whole.
    @Test(
        "A long history arrives in parts, with every change once and in order, and the view ends with the table's rows"
    )
    func stretches() async throws {
        try await server.withDatabase { database in
            try await database.importSample(2000)
            let view = MemoryView()
            try await database.catchUp(view)
            for _ in 0..<30 { try await database.query("update quake set felt = coalesce(felt, 0) + 1") }
            try await database.query("delete from quake where code like 'q1%'")
            let name = try await database.query("select quote_ident(current_database()) as name")[0]
                .decode("name", as: String.self)
            for setting in ["temp_file_limit = '12MB'", "work_mem = '64kB'"] {
                try await database.query("alter database \(unescaped: name) set \(unescaped: setting)")
            }

            try await database.catchUp(view)

            let changes = try await database.query(
                """
                select token || '.' || ordinal as change from history.change join history.transaction t on t.id = transaction
                where token > 1 order by token, ordinal
                """
            ).map { try $0.decode("change", as: String.self) }
            #expect(changes.count > 60_000)
            #expect(view.now.changes == changes)
        }
    }

    @Test("A follower that listens notices at the next commit that the history was replaced")
    func restoredInPlace() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.setMagnitude(2)
            try await database.setMagnitude(3)
            let view = MemoryView()
            try await database.following(view, poll: Self.rarely) {
                try await waitUntil { view.now.position?.token == 3 }
                try await database.withConnection {
                    try await $0.execute(
                        script:
                            "delete from history.transaction where token > 1; select setval('history.token', 1)",
                        to: "restore")
                }
                try await database.setMagnitude(4)
                try await waitUntil { view.now.starts == [.first, .future(3, newest: 2)] }
            }
        }
    }

    @Test(
        "A column that is renamed or dropped while a follower listens disappears with a fresh snapshot",
        arguments: ["rename column extra to rest", "drop column extra cascade"])
    func columnGone(_ alteration: String) async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let (view, log) = (MemoryView(), RecordedLog())
            try await database.following(view, poll: Self.rarely, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                try await database.query("alter table quake \(unescaped: alteration)")
                try await database.setMagnitude(2)
                try await waitUntil { view.now.starts == [.first, .altered] }
            }
            #expect(!view.now.columns.contains { $0.name == "extra" })
            #expect(!log.lines.contains { $0.hasPrefix("warning") }, "there is no reason to reconnect")
        }
    }

    @Test(
        "A column whose type changes while a follower listens arrives with its new type in a fresh snapshot"
    )
    func typeChanged() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let (view, log) = (MemoryView(), RecordedLog())
            try await database.following(view, poll: Self.rarely, logger: log.logger) {
                try await waitUntil { view.now.position != nil }
                for magnitude in 1...2 {
                    try await database.setMagnitude(Double(magnitude))
                    try await database.waitForCatchUp(of: view)
                }
                try await database.query("alter table quake alter column tz type double precision")
                try await database.setMagnitude(3)
                try await waitUntil { view.now.starts == [.first, .altered] }
                try await database.setMagnitude(4)
                try await database.waitForCatchUp(of: view)
            }
            #expect(view.now.columns.first { $0.name == "tz" }?.kind == .number)
            #expect(view.now.starts == [.first, .altered])
            #expect(!log.lines.contains { $0.hasPrefix("warning") }, "there is no reason to reconnect")
        }
    }

    /// reader: pass begins ── reads rows ─────────────────────── reads changes as lines ── ends
    /// prune:                              deletes all history
    ///
    /// At the next pass, the reader's position equals the pruning horizon and is still valid.
    @Test("History that is pruned during a pass is still visible to that pass")
    func prunedDuringPass() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let view = MemoryView(duringPass: {
                try await database.query("select history.prune('0')")
            })
            try await database.catchUp(view)
            for magnitude in 2...4 {
                try await database.setMagnitude(Double(magnitude))
                try await database.catchUp(view)
            }
            #expect(view.now.starts == [.first])
            #expect(view.now.changes == ["2.1", "3.1", "4.1"])
            #expect(try await database.count("history.transaction") == 0)
        }
    }

    // MARK: Named readers

    @Test(
        "For a day after a reader's last report, pruning keeps what the reader needs; the status shows the lag"
    )
    func named() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.catchUp(MemoryView(), name: "slow")
            try await database.setMagnitude(2)
            try await database.setMagnitude(3)

            try await database.withConnection { connection in
                let reader = try #require(try await HistoryStatus.read(on: connection).readers.first)
                #expect(reader.name == "slow")
                #expect(reader.token == 1)
                #expect(reader.tokensBehind == 2)
                #expect(reader.behind > .zero)
                #expect(!reader.isBeforeHorizon)

                let spared = try await Pruning(keep: .zero, keepAtMost: nil).run(on: connection)
                #expect(spared == .init(transactions: 1, changes: 1, horizon: 1, keptFor: "slow"))
                try await connection.query(
                    "update history.reader set seen_at = now() - interval '25 hours'", to: "wait a day")
                let pruned = try await Pruning(keep: .zero, keepAtMost: nil).run(on: connection)
                #expect(pruned == .init(transactions: 2, changes: 2, horizon: 3, keptFor: nil))
                let status = try await HistoryStatus.read(on: connection)
                #expect(status.readers[0].isBeforeHorizon)
            }
        }
    }

    @Test(
        "Pruning keeps all history younger than `keep`, and what a reader needs up to the age `keepAtMost`")
    func pruneLimits() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("select history.report('stuck', 0)")
            try await database.setMagnitude(2)
            try await database.query(
                "update history.transaction set committed_at = committed_at - interval '10 days' where token = 1"
            )
            try await database.withConnection { connection in
                for (keep, keepAtMost, horizon) in [(5, nil, 0), (11, nil, 0), (5, 11, 0), (5, 9, 1)] {
                    let pruning = Pruning(
                        keep: .seconds(keep * 86400), keepAtMost: keepAtMost.map { .seconds($0 * 86400) })
                    let outcome = try await pruning.run(on: connection)
                    #expect(outcome.horizon == horizon)
                }
            }
        }
    }

    @Test("A reader that may not report its position still follows, and logs the consequences")
    func withoutPermission() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let log = RecordedLog()
            // The cluster's role is a superuser and has every privilege, so a read-only session causes the refusal.
            try await database.with("-cdefault_transaction_read_only=on").catchUp(
                MemoryView(), name: "me", logger: log.logger)
            #expect(log.lines.contains { $0.hasPrefix("warning: ") && $0.contains("lag is unknown") })
        }
    }
}

extension TestDatabase {
    /// Removes the notification from the function that runs at a commit.
    fileprivate func withoutNotifications() async throws {
        let source: String = try await query(
            "select pg_get_functiondef('history.commit'::regproc) as source")[0].decode("source")
        let silent = source.replacing(
            "perform pg_notify(channel, drawn.token::text) from unnest(drawn.channels) as channel;", with: "")
        #expect(silent != source)
        try await withConnection { try await $0.execute(script: silent, to: "silence the notifications") }
    }
}
