import Feed
import PostgreSQL

/// The last run of each source.
public struct ImportStatus: Sendable, Equatable {
    /// Ordered by name.
    public let sources: [Source]
    /// The number of different features that could not be imported, and how often they were found in feeds.
    public let rejects: Int
    public let rejected: Int

    public struct Source: Sendable, Equatable {
        /// A URL, a path, or `-` for standard input.
        public let name: String
        /// When it was last imported successfully, or found unchanged; nil if never.
        public let freshAt: Instant?
        /// The time since then.
        public let age: Duration?
        /// The last run.
        public let run: Int
        public let outcome: String
        public let started: Instant
        public let seen: Int
        public let inserted: Int
        public let updated: Int
        public let deleted: Int
        public let rejected: Int
        public let error: String?

        /// Whether it is a feed that can be fetched again. A file or a pipe is imported once.
        public var isFeed: Bool { ["http://", "https://"].contains { name.lowercased().hasPrefix($0) } }
    }

    /// - Parameter names: only these sources; empty for all.
    public static func read(of names: [FeedSource], on connection: Connection) async throws -> ImportStatus {
        let all = try await connection.query(
            """
            select source, run, outcome, (extract(epoch from started) * 1000)::bigint as started, seen, inserted, updated,
                   superseded + retracted as deleted, rejected, error,
                   (extract(epoch from fresh_at) * 1000)::bigint as fresh_at,
                   extract(epoch from clock_timestamp() - fresh_at)::double precision as age
            from import.last_run order by source
            """, to: "read the last runs")
        let rejects = try await connection.query(
            "select count(*) as rejects, coalesce(sum(count), 0)::bigint as rejected from import.reject",
            to: "count the rejects")[0]
        let wanted = Set(names.map { "\($0)" })
        let sources = try all.map { try Source($0) }.filter { wanted.isEmpty || wanted.contains($0.name) }
        return ImportStatus(
            sources: sources, rejects: try rejects.decode("rejects"), rejected: try rejects.decode("rejected")
        )
    }
}

extension ImportStatus.Source {
    fileprivate init(_ row: Row) throws {
        name = try row.decode("source")
        freshAt = try row.decodeIfPresent("fresh_at").map { Instant(milliseconds: $0) }
        age = try row.decodeIfPresent("age", as: Double.self).map { .seconds($0) }
        run = try row.decode("run")
        outcome = try row.decode("outcome")
        started = Instant(milliseconds: try row.decode("started"))
        seen = try row.decode("seen")
        inserted = try row.decode("inserted")
        updated = try row.decode("updated")
        deleted = try row.decode("deleted")
        rejected = try row.decode("rejected")
        error = try row.decodeIfPresent("error")
    }
}
