import Feed
import PostgreSQL

/// A period of origin times that was imported completely: a row of `report.coverage`.
public struct HeldPeriod: Sendable, Equatable {
    /// The host of the service that published the events.
    public let service: String
    public let times: Range<Instant>
    public let minimumMagnitude: Double?
    /// The area; nil for the whole world.
    public let box: QuakeSelection.Box?

    /// All held periods, the earliest first.
    ///
    /// - Throws: `PostgresError`.
    public static func all(on connection: Connection) async throws -> [HeldPeriod] {
        try await connection.query(
            """
            select service, held_from, held_until, minimum_magnitude, south, west, north, east
            from report.coverage order by held_from
            """, to: "read the held periods"
        ).map { row in
            let south: Double? = try row.decodeIfPresent("south")
            return HeldPeriod(
                service: try row.decode("service"),
                times: try row.decode("held_from")..<row.decode("held_until"),
                minimumMagnitude: try row.decodeIfPresent("minimum_magnitude"),
                box: try south.map { south in
                    QuakeSelection.Box(
                        south: south, west: try row.decode("west"), north: try row.decode("north"),
                        east: try row.decode("east"))
                })
        }
    }
}
