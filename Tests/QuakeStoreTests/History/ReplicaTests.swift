import LocalPostgres
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

/// Covers reports on a server other than the importing server, as docs/reporting.md describes.
@Suite("Reporting from a replica")
struct ReplicaTests {
    @Test("A login with the report role can read every report on a hot standby")
    func standby() async throws {
        let primary = try await TemporaryServer.start()
        let database = TestDatabase(url: primary.url)
        try await database.withConnection { connection in
            try await Migrator(connection).migrate()
            _ = try await Roles().establish(on: connection)
        }
        try await database.execute("create role grafana login; grant quakes_report to grafana")
        try await database.importSample(500)
        try await withStandby(of: primary.cluster) { standby in
            try await standby.catchUp()
            let there = TestDatabase(url: standby.url().replacing(/user=[^&]*/, with: "user=grafana"))
            let expected = try await database.text(of: "daily_activity")
            let found = try await there.text(of: "daily_activity")
            #expect(found == expected && !found.isEmpty)
            try await there.withConnection { connection in
                let reports = try await Report.all(on: connection)
                #expect(reports.count > 10)
                for report in reports {
                    let arguments = ["mainshock": "q00", "agency_1": "usgs", "agency_2": "gfz"].filter {
                        name, _ in
                        report.parameters.contains { $0.isRequired && $0.name == name }
                    }
                    try await report.forEachRow(arguments, limit: 1, for: .table, on: connection) { _ in }
                }
            }
        }
    }

    @Test("A logical replica gives the same reports, including deletions and revisions")
    func logical() async throws {
        let primary = try await TemporaryServer.start(settings: ["wal_level": "logical"])
        let replica = try await TemporaryServer.start()
        let (here, there) = (TestDatabase(url: primary.url), TestDatabase(url: replica.url))
        for database in [here, there] {
            try await database.withConnection { _ = try await Migrator($0).migrate() }
        }
        try await here.importSample(300)
        try await here.execute(
            """
            create publication report for table quake, earthquake, earthquake_member, import.run, import.feed, import.coverage,
                history.store, history.transaction, history.change, history.reader
            """)
        // The replica's row in history.store is deleted, because the replicated row takes its place.
        try await there.execute("delete from history.store")
        let url = primary.url.replacing(/.*host=([^&]*)&port=([^&]*)&user=(.*)/) { match in
            "host=\(match.output.1.replacing("%2F", with: "/")) port=\(match.output.2) user=\(match.output.3) dbname=quakes"
        }
        try await there.execute("create subscription report connection '\(url)' publication report")
        // These revisions may be committed while the tables are being copied.
        try await here.importSample(300, revised: 0.2)
        try await waitUntil {
            try await there.query("select from pg_subscription_rel where srsubstate <> 'r'").isEmpty
        }
        try await here.query("delete from quake where code in (select code from quake order by code limit 3)")
        try await here.query(
            "insert into import.coverage (service, periods) values ('service.example', '{[2026-01-01, 2026-02-01)}')"
        )
        try await here.query(
            """
            insert into quake (code, net, net_code, url, time, updated, longitude, latitude, magnitude)
            select 'gfz:' || code, 'gfz', code, 'http://127.0.0.1/' || code, time, updated, longitude, latitude, magnitude
            from quake order by code limit 20
            """)
        try await here.withConnection { _ = try await Associator(logger: .quiet).associate(on: $0) }
        try await here.query("select history.report('reader', 1)")

        let reports = [
            "daily_activity", "revision", "removed_event", "network_contribution",
            "monthly_gutenberg_richter", "import_run", "coverage", "solution", "earthquake",
        ]
        try await waitUntil {
            // The reader's report is replicated last.
            try await !there.query("select from report.reader_lag").isEmpty
        }
        for report in reports {
            let (expected, found) = (try await here.text(of: report), try await there.text(of: report))
            let differences = Set(found).symmetricDifference(expected).prefix(2)
            #expect(differences.isEmpty && !found.isEmpty, "\(report)")
        }
        #expect(try await there.query("select from report.removed_event").count == 3)
        #expect(try await there.query("select from report.revision where revisions > 0").count > 30)
        // The replica's triggers have recorded nothing.
        let lag = "reader, token, tokens_behind"
        let (expected, found) = (
            try await here.text(of: "reader_lag", lag), try await there.text(of: "reader_lag", lag)
        )
        #expect(found == expected)
        try await there.execute("drop subscription report")
    }
}

extension TestDatabase {
    /// The rows of a report as text, sorted.
    fileprivate func text(of report: String, _ columns: String = "*") async throws -> [String] {
        try await query(
            "select r::text as text from (select \(unescaped: columns) from report.\(unescaped: report)) as r order by 1"
        ).map { try $0.decode("text") }
    }
}
