import LocalPostgres
import PostgreSQL

/// Runs `body` with a hot standby of a running server, and removes the standby afterwards.
///
/// Takes a second or two, because the standby is made from a base backup of the whole server.
public func withStandby<Result>(
    of primary: LocalCluster, settings: [String: String] = [:],
    _ body: (StandbyServer) async throws -> Result
) async throws -> Result {
    let temporary = try await TemporaryCluster.startStandby(of: primary, settings: settings)
    do {
        let standby = StandbyServer(cluster: temporary.cluster, primary: primary)
        try await standby.waitUntilStreaming()
        let result = try await body(standby)
        await temporary.remove()
        return result
    } catch {
        await temporary.remove()
        throw error
    }
}

/// A hot standby: a read-only server that shows its primary's state with the delay of replication.
///
/// Its sessions cannot be SERIALIZABLE and cannot LISTEN. A query that blocks replay for longer than
/// `max_standby_streaming_delay` (30 s) is cancelled.
public struct StandbyServer: Sendable {
    /// The standby's cluster. A test may stop and start it at will, and the primary's cluster, too.
    public let cluster: LocalCluster
    private let primary: LocalCluster

    fileprivate init(cluster: LocalCluster, primary: LocalCluster) {
        self.cluster = cluster
        self.primary = primary
    }

    /// The URL of a database on the standby. The standby has the same databases as the primary.
    public func url(database: String = "quakes") -> String {
        cluster.url(database: database)
    }

    /// Waits until the standby shows everything that the primary has committed before this call, or until a condition in SQL
    /// holds. The condition is for tests in which replay may be blocked until the caller continues.
    public func catchUp(or condition: String = "false") async throws {
        // `mark` is the position right after a record that this query writes. The current end of the log is not suitable: it may
        // be after a page header, and replay reaches such a position only with the next record.
        let mark: String = try await TestDatabase(url: primary.url(database: "postgres"))
            .query("select pg_logical_emit_message(true, 'catch up', '')::text as mark")[0].decode("mark")
        try await waitUntil("coalesce(pg_last_wal_replay_lsn() >= '\(mark)', false) or \(condition)")
    }

    /// Disconnects the standby permanently: it never receives later commits of the primary.
    public func disconnect() async throws {
        try await maintenance.withConnection { connection in
            try await connection.execute(
                script: "alter system set primary_conninfo = ''", to: "disconnect the standby")
            try await connection.execute(script: "select pg_reload_conf()", to: "disconnect the standby")
        }
        try await waitUntil("not exists (select from pg_stat_wal_receiver)")
    }

    /// Promotes the standby to a separate primary, which accepts writes when this method returns. The old primary is not
    /// affected.
    public func promote() async throws {
        try await maintenance.query("select pg_promote(wait => false)")
        try await waitUntil("not pg_is_in_recovery()")
    }

    fileprivate func waitUntilStreaming() async throws {
        try await waitUntil("exists (select from pg_stat_wal_receiver where status = 'streaming')")
    }

    /// Waits until a condition in SQL holds on the standby.
    private func waitUntil(_ condition: String) async throws {
        try await maintenance.withConnection { connection in
            try await TestSupport.waitUntil {
                let rows = try await connection.query(
                    "select \(unescaped: condition) as holds", to: "ask the standby")
                return try rows[0].decode("holds")
            }
        }
    }

    private var maintenance: TestDatabase {
        TestDatabase(url: url(database: "postgres"))
    }
}

/// A base backup of a server. With the server's archived log, it restores the server's state at a later moment.
public struct BaseBackup: Sendable {
    /// Settings that make a server archive its log.
    public static let archiving = [
        "archive_mode": "on", "archive_command": "mkdir -p archive && cp %p archive/%f",
    ]

    private let temporary: TemporaryCluster
    private let primary: LocalCluster

    /// Takes a base backup. The backup is removed when the last reference is dropped.
    public static func of(_ primary: LocalCluster) async throws -> BaseBackup {
        BaseBackup(temporary: try await TemporaryCluster.copy(of: primary), primary: primary)
    }

    /// Starts a separate server with the state that the backed-up server had at `moment`. The new server accepts writes when this
    /// method returns. The old server is not affected.
    ///
    /// - Parameter moment: a time in PostgreSQL's format. The log must contain a later commit, at which recovery ends.
    /// - Returns: the recovered database `quakes`.
    public func recover(to moment: String) async throws -> TestDatabase {
        let old = TestDatabase(url: primary.url(database: "postgres"))
        let file: String = try await old.query("select pg_walfile_name(pg_switch_wal()) as file")[0].decode(
            "file")
        try await waitUntil {
            try await old.query(
                "select coalesce(last_archived_wal >= \(file), false) as holds from pg_stat_archiver")[0]
                .decode("holds")
        }
        try await temporary.recover(settings: [
            "restore_command": "cp \(primary.data)/archive/%f %p", "recovery_target_time": moment,
            "archive_mode": "off",
        ])
        let server = TestDatabase(url: temporary.cluster.url(database: "postgres"))
        try await waitUntil {
            try await server.query("select not pg_is_in_recovery() as holds")[0].decode("holds")
        }
        return TestDatabase(url: temporary.cluster.url(database: "quakes"))
    }
}
