import Feed
import PostgreSQL

public struct ImportStatus: Sendable, Equatable {
    public let sources: [Source]
    /// The number of different features that could not be imported. `rejected` is the number of times that they were found in
    /// feeds.
    public let rejects: Int
    public let rejected: Int

    public struct Source: Sendable, Equatable {
        /// A URL, a path, or `-` for standard input.
        public let name: String
        /// The name for people: the short name of a summary feed or an event service, such as `all_hour` or `backfill usgs`.
        /// Other sources have no shorter name.
        public let label: String
        /// When the source was last imported successfully, or found unchanged; nil if never.
        public let freshAt: Instant?
        /// The time since `freshAt`.
        public let age: Duration?
        /// The time since `freshAt` or, if the source was never imported successfully, since its first run.
        public let silence: Duration
        /// The time at which the newest imported document was made, as the document states it.
        public let generated: Instant?
        /// The time since `generated`.
        public let documentAge: Duration?
        /// The interval at which a daemon imports the source; nil if the last run was not a daemon's.
        public let every: Duration?
        /// Whether a monitor should expect the source to be fresh: a daemon imports it, or it is a URL that was imported
        /// successfully at least once. Files, pipes, and URLs that never worked are not expected to be fresh.
        public let isMonitored: Bool
        public let run: Int
        public let outcome: String
        public let started: Instant
        public let seen: Int
        public let inserted: Int
        public let updated: Int
        public let deleted: Int
        public let rejected: Int
        public let error: String?
        /// The results of the source's sweeps; nil if the source is not an event service.
        public let sweeps: Sweeps?

        fileprivate init(_ row: Row) throws {
            name = try row.decode("source")
            let prefix = ["backfill ", "verify "].first { [name] in name.hasPrefix("\($0)http") } ?? ""
            let source = FeedSource(String(name.dropFirst(prefix.count)))
            label = source.shortName.map { prefix + $0 } ?? name
            freshAt = try row.decodeIfPresent("fresh_at")
            age = try row.decodeIfPresent("age")
            silence = try row.decode("silence")
            generated = try row.decodeIfPresent("generated")
            documentAge = try row.decodeIfPresent("document_age")
            every = try row.decodeIfPresent("every")
            isMonitored = try row.decode("is_monitored")
            run = try row.decode("run")
            outcome = try row.decode("outcome")
            started = try row.decode("started")
            seen = try row.decode("seen")
            inserted = try row.decode("inserted")
            updated = try row.decode("updated")
            deleted = try row.decode("deleted")
            rejected = try row.decode("rejected")
            error = try row.decodeIfPresent("error")
            sweeps = try row.decode("is_swept") ? Sweeps(row) : nil
        }

        /// Whether `source` is the name or the label of this source.
        func isNamed(by source: FeedSource) -> Bool { [name, label].contains("\(source)") }
    }

    /// The number and the results of the complete sweeps of the last 24 hours.
    public struct Sweeps: Sendable, Equatable {
        /// All revisions and deletions of the service up to this time are imported; nil before the first complete sweep.
        public let cursor: Instant?
        public let count: Int
        public let inserted: Int
        public let updated: Int
        public let deleted: Int

        fileprivate init(_ row: Row) throws {
            cursor = try row.decodeIfPresent("cursor")
            count = try row.decode("sweeps")
            inserted = try row.decode("swept_inserted")
            updated = try row.decode("swept_updated")
            deleted = try row.decode("swept_deleted")
        }
    }

    /// - Parameter wanted: the sources to read; empty for all.
    /// - Throws: `Failure` if one of the sources has never been imported, or `PostgresError`.
    public static func read(
        of wanted: [FeedSource] = [], on connection: Connection
    ) async throws -> ImportStatus {
        let rows = try await connection.query(
            """
            select source, run, outcome, started, seen, inserted, updated, superseded + retracted as deleted, rejected,
                   error, fresh_at, clock_timestamp() - fresh_at as age,
                   clock_timestamp() - coalesce(fresh_at, (select first.started from import.run as first
                                                           where first.source = last_run.source order by first.id limit 1)) as silence,
                   generated,
                   clock_timestamp() - generated as document_age, every, is_monitored,
                   sweep.source is not null as is_swept, cursor, day.*
            from import.last_run left join import.sweep using (source) cross join lateral (
                select count(*) as sweeps, coalesce(sum(run.inserted), 0)::bigint as swept_inserted,
                       coalesce(sum(run.updated), 0)::bigint as swept_updated,
                       coalesce(sum(run.superseded + run.retracted), 0)::bigint as swept_deleted
                from import.run
                where run.source = sweep.source and run.started > clock_timestamp() - interval '24 hours'
                  and run.outcome = 'done') as day
            order by source
            """, to: "read the last runs")
        let all = try rows.map(Source.init)
        let unknown = wanted.first { source in !all.contains { $0.isNamed(by: source) } }
        if let unknown {
            // Suggestions include the short names of feeds, because `quakes status` shows them.
            let known = all.flatMap { [$0.name, FeedSource($0.name).shortName] }
            let name = unknown.shortName ?? "\(unknown)"
            let meant = closestSpelling(of: name, among: known).map { "did you mean \($0)?" }
            let remedy = meant ?? "quakes status lists the imported sources"
            throw Failure(.noInput, "nothing was ever imported from \(name); \(remedy)")
        }
        let sources =
            wanted.isEmpty ? all : all.filter { source in wanted.contains { source.isNamed(by: $0) } }
        let rejects = try await connection.query(
            """
            select count(*) as rejects, coalesce(sum(count), 0)::bigint as rejected from import.reject
            where reason <> 'unnamed'
            """,
            to: "count the rejects")[0]
        return ImportStatus(
            sources: sources, rejects: try rejects.decode("rejects"),
            rejected: try rejects.decode("rejected"))
    }
}
