import Feed
import PostgreSQL

/// One run's row in `import.run`, and the lock on the run's source. The lock shows that the worker is alive, and prevents a
/// second run of the source at the same time.
struct RunLog {
    let connection: Connection
    let source: FeedSource
    /// The name under which the run is recorded and its source is locked.
    let name: String
    /// The interval at which a daemon imports the source; nil for a single run.
    var every: Duration?
    /// Whether the document's validators are kept, so that it is not fetched again while it is unchanged.
    var keepsValidators = false

    /// Standard input is a different document each time, so its runs share the lock.
    private var isShared: Bool { source == .standardInput }

    /// Locks the source for this session, and closes the runs that workers left open when they died.
    ///
    /// - Returns: the validators that the server sent with the feed's last successful import.
    /// - Throws: `SourceBusy` when another session holds the lock.
    @discardableResult
    func lock() async throws -> Validators? {
        let lock = isShared ? "pg_try_advisory_lock_shared" : "pg_try_advisory_lock"
        let taken = try await connection.repeating(
            "select \(unescaped: lock)(import.lock_key(\(name))) as locked", to: "lock the source")[0]
        guard try taken.decode("locked") else { throw SourceBusy(source: source) }
        // Closes dead runs of every source, because a file may never be imported again. The statement only reads which locks are
        // held: taking the locks would prevent other runs from starting.
        let row = try await connection.repeating(
            """
            with dead as (
                update import.run set outcome = 'failed', finished = now(), error = 'the worker died'
                where outcome = 'running' and not exists (
                    select from pg_locks
                    where locktype = 'advisory' and granted and pid <> pg_backend_pid()
                      and database = (select oid from pg_database where datname = current_database())
                      and objsubid = 1 and (classid::bigint << 32 | objid::bigint) = import.lock_key(run.source)))
            select feed.source is not null and coalesce(feed.fetched_at <= now(), true) and not (\(Self.hasDeletions)) as is_known,
                   etag, last_modified
            from (select) as one left join import.feed on feed.source = \(name)
            """, to: "read the feed's validators")[0]
        guard keepsValidators, try row.decode("is_known") else { return nil }
        return Validators(
            etag: try row.decodeIfPresent("etag"), lastModified: try row.decodeIfPresent("last_modified"))
    }

    /// Whether anyone but a worker has deleted earthquakes since the feed was fetched. If so, the feed is fetched again, because
    /// it may still list these earthquakes. A deletion less than a day before the fetch counts, too, if it was not yet committed
    /// at the fetch. If the database's clock was ahead at the fetch, it is not known which deletions came later.
    private static let hasDeletions: Query = """
        exists (select from import.deleted
                where deleted.deleted_at > feed.fetched_at - interval '1 day'
                  and (deleted.deleted_at >= feed.fetched_at
                       or not pg_visible_in_snapshot(deleted.transaction, feed.snapshot)))
        """

    func unlock() async throws {
        let unlock = isShared ? "pg_advisory_unlock_shared" : "pg_advisory_unlock"
        try await connection.shieldingFromCancellation(within: .seconds(5)) {
            try await connection.query(
                "select \(unescaped: unlock)(import.lock_key(\(name)))", to: "release the source")
        }
    }

    func hasRun() async throws -> Bool {
        try await connection.query(
            "select exists (select from import.run where source = \(name)) as has_run",
            to: "look for the source's runs")[0].decode("has_run")
    }

    /// Records that the feed was checked and is unchanged. The commit does not wait for the disk, so after a crash, the recorded
    /// time may be that of an earlier check.
    func touch() async throws {
        try await connection.repeating(
            """
            update import.feed set checked_at = clock_timestamp() where source = \(name)
            returning set_config('synchronous_commit', 'off', true)
            """, to: "note that the feed is unchanged")
    }

    /// Records the run, and sets it as the context under which the history records the session's changes. One statement does
    /// both, so that a cancellation leaves no run open.
    ///
    /// The commit does not wait for the disk. The run's changes are committed later, and once a later commit is on disk, all
    /// earlier ones are, too.
    func begin() async throws -> Int {
        try await connection.repeating(
            """
            with run as (
                insert into import.run (source, every)
                values (\(name), make_interval(secs => \(every.map { $0 / .seconds(1) })))
                returning id)
            select id, set_config('history.context', 'run ' || id, false),
                   set_config('synchronous_commit', 'off', true)
            from run
            """, to: "record the run")[0].decode("id")
    }

    /// Sets the same context as `begin`, in another session that takes part in the run.
    static func naming(_ run: Int) -> Query {
        "select set_config('history.context', \(context(of: run)), false)"
    }

    private static func context(of run: Int) -> String { "run \(run)" }

    /// Records the outcome, even if the task is cancelled. Only a successful run also keeps the validators: otherwise the next
    /// request could be answered with "unchanged" although the document was not imported.
    ///
    /// - Returns: the history tokens of the run's first and last transaction.
    func end(_ summary: ImportSummary) async throws -> ClosedRange<Int>? {
        guard let run = summary.run else { return nil }
        let history = summary.counts.history
        let failure = summary.failure.map { $0 is CancellationError ? "cancelled" : "\($0)" }
        // The text may quote the document, which may contain U+0000. PostgreSQL's text can't.
        let error = (failure ?? summary.warning)?.replacing("\0" as Unicode.Scalar, with: "\u{FFFD}")
        let operation = "record the run's outcome"
        let rows = try await connection.shieldingFromCancellation(within: .seconds(5)) {
            try await connection.repeating(
                """
                with \(summary.sweep?.movingCursor(of: name) ?? keeping(summary))
                update import.run
                set finished = clock_timestamp(), outcome = \(summary.outcome.rawValue), feed = \(summary.feed),
                    generated = \(summary.generated), error = \(error),
                    (first_token, last_token) = (
                        select min(token), max(token) from history.transaction
                        where id between \(history?.lowerBound) and \(history?.upperBound)
                          and context = \(Self.context(of: run)))
                where id = \(run)
                returning first_token, last_token, \(MergeStatement.waitingForStandbys)
                """, to: operation)
        }
        guard let row = rows.first else { throw PostgresError.noRun(run, operation) }
        guard let first = try row.decodeIfPresent("first_token", as: Int.self),
            let last = try row.decodeIfPresent("last_token", as: Int.self), first <= last
        else { return nil }
        return first...last
    }

    /// Stores the validators of an imported document, with two exceptions. After a warning, they are not stored, so that the next
    /// run fetches the document and warns again. If the document could have been settled but was not, they are not stored,
    /// because the next run may have an option that allows settling it.
    private func keeping(_ summary: ImportSummary) -> Query {
        guard case .document(let validators, _) = summary.result, keepsValidators,
            summary.outcome == .done, summary.warning == nil, !summary.counts.isUnsettled
        else {
            return "kept as (select)"
        }
        return """
            kept as (
                insert into import.feed
                    (source, etag, last_modified, generated, checked_at, fetched_at, snapshot)
                select \(name), \(validators?.etag), \(validators?.lastModified),
                       \(summary.generated), clock_timestamp(), started, snapshot
                from import.run where id = \(summary.run)
                on conflict (source) do update
                set etag = excluded.etag, last_modified = excluded.last_modified,
                    generated = greatest(feed.generated, excluded.generated),
                    checked_at = excluded.checked_at, fetched_at = excluded.fetched_at, snapshot = excluded.snapshot
            )
            """
    }
}

extension PostgresError {
    static func noRun(_ run: Int, _ operation: String) -> PostgresError {
        PostgresError(operation: operation, message: "run \(run) was deleted from import.run")
    }
}

extension FeedSource {
    /// Whether a server can say that this source is unchanged. Sources that differ only in hidden parameters share a name, so the
    /// validators under that name may belong to another document. A sweep always asks for what is new.
    var hasValidators: Bool {
        if case .url = self { !hidesParameters && EventService(self) == nil } else { false }
    }
}

/// Another process is importing the same source.
public struct SourceBusy: Error, Equatable, CustomStringConvertible {
    public let source: FeedSource

    public var description: String { "another run is importing \(source)" }
}
