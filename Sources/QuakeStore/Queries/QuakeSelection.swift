import Feed
import Glibc
import PostgreSQL

/// Which earthquakes to read. The newest come first.
public struct QuakeSelection: Sendable {
    /// Only events with this origin time or later.
    public var since: Instant?
    public var minimumMagnitude: Double?
    public var near: Circle?
    /// nil for all.
    public var limit: Int?
    /// Reads the table as it was at this moment; nil for the present.
    public var asOf: PastMoment?

    public init() {}

    /// A circle on the earth's surface. The earth counts as a sphere with a radius of 6371 km.
    public struct Circle: Sendable, Equatable {
        /// Degrees.
        public var latitude: Double
        public var longitude: Double
        public var kilometres: Double

        public init(latitude: Double, longitude: Double, kilometres: Double) {
            self.latitude = latitude
            self.longitude = longitude
            self.kilometres = kilometres
        }

        /// The same rule as `report.distance_km`, for rows that do not come from a database.
        public func contains(_ quake: Quake) -> Bool {
            func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
            let south = sin(radians(quake.latitude - latitude) / 2)
            let east = sin(radians(quake.longitude - longitude) / 2)
            let haversine =
                south * south + cos(radians(quake.latitude)) * cos(radians(latitude)) * east * east
            return kilometres >= 2 * 6371 * asin(min(1, haversine.squareRoot()))
        }
    }

    /// Hands over each earthquake as it arrives, in constant memory.
    ///
    /// - Throws: `PastError` if the history does not reach back to `asOf`; `PostgresError`; what `body` throws.
    public func forEach(on connection: Connection, _ body: @Sendable (Quake) throws -> Void) async throws {
        guard let asOf else {
            try await connection.forEachRow(of: query(from: "public.quake"), to: "list earthquakes") {
                try body(Quake($0.value))
            }
            return
        }
        // One snapshot, so that no pruning comes between finding the token and reading what came after it.
        try await connection.transaction(.repeatableReadOnly, to: "list past earthquakes") {
            let table = Self.table(after: try await asOf.token(on: connection))
            try await connection.forEachRow(of: query(from: table), to: "list past earthquakes") {
                try body(Quake($0.value))
            }
        }
    }

    private func query(from table: Query) -> Query {
        let nearby: Query =
            if let near {
                """
                abs(latitude - \(near.latitude)) <= \(near.kilometres) / 111.0
                and report.distance_km(\(near.latitude), \(near.longitude), latitude, longitude) <= \(near.kilometres)
                """
            } else { "true" }
        return """
            select \(unescaped: Property.selected)
            from \(table) as quake
            where (\(since?.milliseconds) is null or time >= to_timestamp(\(since?.milliseconds) / 1000.0))
              and (\(minimumMagnitude) is null or magnitude >= \(minimumMagnitude))
              and \(nearby)
            order by time desc, code collate "C"
            limit \(limit)
            """
    }
}
