import Feed
import PostgreSQL

/// The events of a summary feed: those since a moment, and at least so large or so significant.
public struct FeedRows: Sendable {
    public var since: Instant
    public var minimumMagnitude: Double?
    public var minimumSignificance: Int?

    public init(since: Instant, minimumMagnitude: Double? = nil, minimumSignificance: Int? = nil) {
        self.since = since
        self.minimumMagnitude = minimumMagnitude
        self.minimumSignificance = minimumSignificance
    }

    /// How many there are.
    public func count(on connection: Connection) async throws -> Int {
        try await connection.query(
            "select count(*) as count from only public.quake where \(condition)",
            to: "count a feed's events"
        )[0].decode("count")
    }

    /// Hands over these properties of each event, the newest event first.
    public func copy(
        _ properties: [Property], on connection: Connection,
        _ body: @Sendable (inout Row) throws -> Void
    ) async throws {
        let query: Query = """
            select \(unescaped: properties.columnList) from only public.quake
            where \(condition) order by time desc, code collate "C"
            """
        try await connection.copy(rowsOf: connection.text(of: query), to: "read a feed's events", body)
    }

    /// These properties of one event.
    ///
    /// - Returns: false if there is no such event.
    public static func copy(
        _ properties: [Property], of code: String, on connection: Connection,
        _ body: @Sendable (inout Row) throws -> Void
    ) async throws {
        let query: Query =
            "select \(unescaped: properties.columnList) from only public.quake where code = \(code)"
        try await connection.copy(rowsOf: connection.text(of: query), to: "read an event", body)
    }

    private var condition: Query {
        var all: [Query] = ["time >= \(since)"]
        if let minimumMagnitude { all.append("magnitude >= \(minimumMagnitude)") }
        if let minimumSignificance { all.append("sig >= \(minimumSignificance)") }
        return all.joined(by: " and ")
    }
}
