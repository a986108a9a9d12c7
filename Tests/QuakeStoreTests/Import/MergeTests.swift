import Feed
import Foundation
import PostgreSQL
import QuakeStore
import SampleFeed
import TestSupport
import Testing

@Suite("Merging a feed into the table")
struct MergeTests {
    let server = TestServer.shared

    @Test("A code that occurs in two networks gives two rows")
    func rawCodesRepeat() async throws {
        try await server.withDatabase { database in
            let summary = try await database.importFeatures([
                SmallFeed.feature("2022mrop", net: "q0"), SmallFeed.feature("2022mrop", net: "q1"),
            ])

            #expect(summary.figures == [2, 0, 0, 0, 0])
            #expect(
                try await database.column("net_code") == ["q02022mrop": "2022mrop", "q12022mrop": "2022mrop"])
        }
    }

    @Test(
        "If an id occurs twice in a feed, the newest version stays, in one batch or two",
        arguments: [1, 20_000])
    func newestOfADocument(batchSize: Int) async throws {
        try await server.withDatabase { database in
            let summary = try await database.importFeatures(
                [
                    SmallFeed.feature("a", updated: 2000, place: "newest"),
                    SmallFeed.feature("a", updated: 1000, place: "older"),
                ], batchSize: batchSize)

            #expect(try await database.column("place") == ["q0a": "newest"])
            #expect(summary.figures == [1, 0, 0, 1, 0])
        }
    }

    @Test(
        "If versions are equally new, the last one in the document stays, in one batch or two",
        arguments: [1, 20_000])
    func lastAmongEquals(batchSize: Int) async throws {
        try await server.withDatabase { database in
            let summary = try await database.importFeatures(
                [SmallFeed.feature("a", place: "first"), SmallFeed.feature("a", place: "last")],
                batchSize: batchSize)

            #expect(try await database.column("place") == ["q0a": "last"])
            #expect(summary.counts.seen == 2)
            #expect(summary.figures.reduce(0, +) == 2)
        }
    }

    @Test("An older record changes nothing and counts as stale")
    func olderIsStale() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000, place: "new")])

            let summary = try await database.importFeatures([
                SmallFeed.feature("a", updated: 1000, place: "old")
            ])

            #expect(summary.figures == [0, 0, 0, 1, 0])
            #expect(try await database.column("place") == ["q0a": "new"])
        }
    }

    @Test("Importing the same feed again rewrites no row")
    func unchangedRowsStay() async throws {
        try await server.withDatabase { database in
            try await importSample(SampleFeed(count: 500), into: database)
            let before = try await database.column("xmin::text || ctid::text")

            let summary = try await importSample(SampleFeed(count: 500), into: database)

            #expect(summary.figures == [0, 0, 500, 0, 0])
            #expect(try await database.column("xmin::text || ctid::text") == before)
        }
    }

    @Test("An unchanged feed writes almost no WAL")
    func unchangedWritesNoWAL() async throws {
        // The test has its own server, because WAL is counted for the whole server.
        let server = try await TemporaryServer.start(settings: ["autovacuum": "off"])
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        let count = 2000
        try await importSample(SampleFeed(count: count), into: database)
        // A vacuum sets the hint bits that the first reader would otherwise write.
        try await database.query("vacuum freeze public.quake")
        let before = try await database.query("select pg_current_wal_insert_lsn()::text as lsn")[0]
            .decode("lsn", as: String.self)

        let summary = try await importSample(SampleFeed(count: count), into: database)

        let bytes = try await database.query(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), \(before)::pg_lsn)::bigint as bytes")[0]
            .decode("bytes", as: Int.self)
        #expect(summary.counts.unchanged == count)
        // Rewriting the rows would take more than 10 bytes of WAL for each. The records of the run take about 1000 bytes in all.
        #expect(bytes < 10 * count)
    }

    @Test(
        "Even after a vacuum of the empty table, features are looked up by key and not by scanning the table"
    )
    func plannedForAnEmptyTable() async throws {
        try await server.withDatabase { database in
            try await database.query("vacuum analyze quake")

            try await database.importFeatures((0..<500).map { SmallFeed.feature("c\($0)") })

            // The worker's session reports its counters when it ends.
            try await waitUntil { try await database.otherSessions().isEmpty }
            let counters = try await database.query(
                """
                select n_tup_ins as inserted, coalesce(seq_tup_read, 0) as read
                from pg_stat_user_tables where relname = 'quake'
                """)[0]
            #expect(try counters.decode("inserted") == 500)
            #expect(try counters.decode("read") == 0)
        }
    }

    /// After an import that was rolled back, a vacuum finds many pages and no row. From then on, the planner believes that the
    /// table is empty, however large it becomes, until the next vacuum.
    @Test("Even if the statistics describe an empty table, events are looked up by key")
    func misleadingStatistics() async throws {
        try await server.withDatabase { database in
            let rows = 20_000
            try await database.execute(
                """
                alter table quake set (autovacuum_enabled = false);
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                select 'old' || n, 'ol', 'd' || n, '2000-01-01', '2000-01-01', 0, 0 from generate_series(1, \(rows)) as n;
                update pg_class set reltuples = 0, relpages = 1000 where oid = 'quake'::regclass
                """)
            try await database.refusing("new.code = 'us20'", sqlState: "22000")
            let token = try await database.query("select max(token) as token from history.transaction")[0]
                .decode("token", as: Int.self)
            let events = (1...20).map { (number: Int) in Event("us\(number)", felt: number) }
            let newer =
                events.dropFirst(2).dropLast().map { Event($0.code, updated: 3, felt: 50) }
                + [Event("ci1", ids: ["us1", "ci1"])]
            var summaries: [ImportSummary] = []

            let read = try await database.entriesRead { connection in
                for feed in [
                    Feed("all_day", at: 60, events), Feed("all_day", at: 120, newer),
                    Feed("all_week", at: 90, events),
                ] {
                    summaries.append(try await database.settle(feed))
                }
                for table in ["quake", "earthquake"] {
                    _ = try await connection.query(
                        "select from history.changes(\(token), \(table))", to: "read")
                }
            }

            let counts = summaries.map(\.counts)
            #expect(counts.map(\.inserted) == [19, 1, 0])
            #expect(counts.map(\.updated) == [0, 17, 0])
            #expect(counts.map(\.superseded) == [0, 1, 0])
            #expect(counts.map(\.retracted) == [0, 1, 0])
            #expect(counts.map(\.stale) == [0, 0, 20])
            #expect(counts.map(\.rejected) == [1, 0, 0])
            #expect(read < rows, "\(read) rows and index entries read")
        }
    }

    @Test("A revised feed updates only the rows that were revised")
    func revisions() async throws {
        try await server.withDatabase { database in
            try await importSample(SampleFeed(count: 1000), into: database)

            let summary = try await importSample(SampleFeed(count: 1000, revised: 0.1), into: database)

            #expect(summary.counts.updated == 100)
            #expect(summary.counts.unchanged == 900)
        }
    }

    @Test("imported_at stays the time of a row's first import")
    func importedAtStays() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let before = try await database.column("imported_at")

            try await database.importFeatures([SmallFeed.feature("a", updated: 2000)])

            #expect(try await database.column("imported_at") == before)
        }
    }

    @Test(
        "Importing random documents in random batches and lanes gives the same content as a dictionary",
        arguments: rounds(2, of: 5))
    func importEqualsModel(number: Int) async throws {
        try await server.withDatabase { database in
            var random = SplitMix64(seed: UInt64(number))
            var model: [String: (updated: Int, place: String)] = [:]
            for document in 0..<6 {
                let features = (0..<60).map { index in
                    let (code, updated) = ("c\(random.below(15))", 1000 + random.below(5))
                    return (code: code, updated: updated, place: "\(document)-\(index)")
                }
                for feature in features where feature.updated >= model[feature.code]?.updated ?? 0 {
                    model[feature.code] = (feature.updated, feature.place)
                }
                let summary = try await database.importFeatures(
                    features.map { SmallFeed.feature($0.code, updated: $0.updated, place: $0.place) },
                    batchSize: 1 + random.below(80), lanes: 1 + random.below(4))
                #expect(summary.figures.reduce(0, +) == summary.counts.seen)
            }

            let places = try await database.column("place")
            #expect(places == Dictionary(uniqueKeysWithValues: model.map { ("q0\($0.key)", $0.value.place) }))
        }
    }

    @Test("Four concurrent workers on overlapping feeds lose and duplicate nothing")
    func concurrentWorkers() async throws {
        var random = seededRandom()
        try await server.withDatabase { database in
            let summaries = try await withThrowingTaskGroup(of: ImportSummary.self) { group in
                for worker in 0..<4 {
                    let codes = (0..<400).shuffled(using: &random).map { "c\($0)" }
                    group.addTask {
                        try await database.importFeatures(
                            codes.map { SmallFeed.feature($0, updated: 1000 + worker, place: "\(worker)") },
                            batchSize: 50)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }

            #expect(summaries.map(\.counts.inserted).reduce(0, +) == 400)
            #expect(try await Set(database.column("place").values) == ["3"])
        }
    }

    @discardableResult
    private func importSample(_ feed: SampleFeed, into database: TestDatabase) async throws -> ImportSummary {
        var document: [UInt8] = []
        feed.write { document.append(contentsOf: $0) }
        let summary = try await database.importDocument(String(decoding: document, as: UTF8.self))
        if let failure = summary.failure { throw failure }
        return summary
    }
}
