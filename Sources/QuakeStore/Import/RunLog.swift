import Feed
import PostgreSQL

/// What `import.run` says of one run, and the lock that keeps a second one away from its source.
struct RunLog {
    let connection: Connection
    let source: FeedSource
    /// How the run is named, and what is locked.
    let name: String

    init(connection: Connection, source: FeedSource, name: String? = nil) {
        self.connection = connection
        self.source = source
        self.name = name ?? "\(source)"
    }

    /// The source's advisory lock. "quak" in ASCII keeps clear of other programs' locks.
    private var lockKey: Query { "\(0x7175_616B)::int, hashtext(\(name))" }

    /// Takes the source for this session.
    ///
    /// - Throws: `SourceBusy` when another session has it.
    func lock() async throws {
        // What comes by standard input is another document every time.
        if source == .standardInput { return }
        let row = try await connection.query(
            "select pg_try_advisory_lock(\(lockKey)) as locked",
            to: "lock the source")[0]
        guard try row.decode("locked") else { throw SourceBusy(source: source) }
        // Whoever held it is gone, and left its run open.
        try await connection.execute(
            """
            update import.run
            set outcome = 'failed', finished = now(), error = 'the worker died'
            where source = \(name) and outcome = 'running'
            """, to: "close the runs of workers that died")
    }

    func unlock() async throws {
        if source == .standardInput { return }
        try await connection.shieldingFromCancellation(within: .seconds(5)) {
            try await connection.query(
                "select pg_advisory_unlock(\(lockKey))",
                to: "release the source")
        }
    }

    private var isOwnName: Bool { name == "\(source)" }

    /// What the feed's server said of it when it was last imported well.
    func validators() async throws -> Validators? {
        guard case .url = source, isOwnName else { return nil }
        return try await connection.query(
            "select etag, last_modified from import.feed where source = \(name)",
            to: "read the feed's validators"
        ).first.map { row in
            Validators(
                etag: try row.decodeIfPresent("etag"), lastModified: try row.decodeIfPresent("last_modified"))
        }
    }

    /// Notes that the feed was asked for and is unchanged.
    func touch() async throws {
        try await connection.execute(
            "update import.feed set checked_at = clock_timestamp() where source = \(name)",
            to: "note that the feed is unchanged")
    }

    /// Records the run, and names it as the context of what history records. One statement, so that a cancellation leaves
    /// no run open.
    func begin() async throws -> Int {
        try await connection.query(
            """
            with run as (insert into import.run (source) values (\(name)) returning id)
            select id, set_config('history.context', 'run ' || id, false) from run
            """, to: "record the run")[0].decode("id")
    }

    /// Names a run, as `begin` does, for another session that takes part in it.
    static func naming(_ run: Int) -> Query {
        "select set_config('history.context', \(context(of: run)), false)"
    }

    /// What history records of a run as its context.
    private static func context(of run: Int) -> String { "run \(run)" }

    /// Records the outcome, also when the task is cancelled; of a good one also the validators, so that a failed run never
    /// hides data behind an "unchanged".
    ///
    /// - Returns: the history tokens of the run's first and last transaction.
    func end(_ summary: ImportSummary, _ result: FetchResult?) async throws -> ClosedRange<Int>? {
        guard let run = summary.run else { return nil }
        let history = summary.counts.history
        let error = summary.failure.map { $0 is CancellationError ? "cancelled" : "\($0)" }
        let row = try await connection.shieldingFromCancellation(within: .seconds(5)) {
            try await connection.query(
                """
                with \(keeping(result, summary))
                update import.run
                set finished = clock_timestamp(), outcome = \(summary.outcome.rawValue), feed = \(summary.feed),
                    error = \(error),
                    (first_token, last_token) = (
                        select min(token), max(token) from history.transaction
                        where id between \(history?.lowerBound) and \(history?.upperBound)
                          and context = \(Self.context(of: run)))
                where id = \(run)
                returning first_token, last_token
                """, to: "record the run's outcome")[0]
        }
        guard let first = try row.decodeIfPresent("first_token", as: Int.self),
            let last = try row.decodeIfPresent("last_token", as: Int.self), first <= last
        else { return nil }
        return first...last
    }

    private func keeping(_ result: FetchResult?, _ summary: ImportSummary) -> Query {
        guard case .document(let validators, _) = result, case .url = source, isOwnName,
            summary.outcome == .done
        else {
            return "kept as (select)"
        }
        return """
            kept as (
                insert into import.feed (source, etag, last_modified, generated, checked_at)
                values (\(name), \(validators?.etag), \(validators?.lastModified),
                        to_timestamp(\(summary.generated?.milliseconds) / 1000.0), clock_timestamp())
                on conflict (source) do update
                set etag = excluded.etag, last_modified = excluded.last_modified, generated = excluded.generated,
                    checked_at = excluded.checked_at
            )
            """
    }
}

/// Another process imports the same source.
public struct SourceBusy: Error, Equatable, CustomStringConvertible {
    public let source: FeedSource

    public init(source: FeedSource) {
        self.source = source
    }

    public var description: String { "another run is importing \(source)" }
}
