import Feed
import PostgreSQL

public struct CatalogueStatus: Sendable, Equatable {
    /// How many events the table has. For a large table this is an estimate, because counting would read the whole table.
    public let count: Int
    public let isEstimate: Bool
    /// The event with the latest origin time; nil if there is none.
    public let newest: Newest?

    public struct Newest: Sendable, Equatable {
        public let code: String
        public let time: Instant
        public let magnitude: Double?
        public let place: String?
        public let age: Duration

        fileprivate init(_ row: Row) throws {
            code = try row.decode("code")
            time = try row.decode("time")
            magnitude = try row.decodeIfPresent("magnitude")
            place = try row.decodeIfPresent("place")
            age = try row.decode("age")
        }
    }

    public static func read(on connection: Connection) async throws -> CatalogueStatus {
        let newest = try await connection.query(newestQuery, to: "find the newest earthquake").first
        let (count, isEstimate) = try await count(on: connection)
        return CatalogueStatus(
            count: count, isEstimate: isEstimate, newest: try newest.map { try Newest($0) })
    }

    static let newestQuery: Query = """
        select code, time, magnitude, place, clock_timestamp() - time as age
        from only public.quake order by time desc limit 1
        """

    public static func isEmpty(on connection: Connection) async throws -> Bool {
        try await connection.query(
            "select not exists (select from only public.quake) as is_empty", to: "look for earthquakes")[0]
            .decode("is_empty")
    }

    /// Counts the earthquakes, or estimates how many there are if the table has more than `limit` bytes.
    ///
    /// The estimate counts the rows on about 500 pages. The server's own statistics would cost less, but they are as old as the
    /// last ANALYZE, and after a first load they do not exist.
    static func count(
        upTo limit: Int = 64 << 20, on connection: Connection
    ) async throws -> (count: Int, isEstimate: Bool) {
        let table = try await connection.query(
            """
            select pg_relation_size('public.quake') as size,
                   pg_relation_size('public.quake') / current_setting('block_size')::integer as pages
            """, to: "read the table's size")[0]
        guard try table.decode("size") > limit else {
            let row = try await connection.query(
                "select count(*) as count from only public.quake", to: "count the earthquakes")[0]
            return (try row.decode("count"), false)
        }
        let percent = min(100, 500 * 100 / Double(try table.decode("pages", as: Int.self)))
        let row = try await connection.query(
            """
            select (count(*) * 100 / \(percent))::bigint as count
            from only public.quake tablesample system (\(percent)) repeatable (0)
            """, to: "estimate how many earthquakes there are")[0]
        return (try row.decode("count"), true)
    }
}
