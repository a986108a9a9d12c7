import Feed
import PostgreSQL

public struct Reject: Sendable, Equatable {
    public let id: Int
    /// The last run that rejected the feature, and that run's source.
    public let run: Int
    public let source: String
    /// The feature's place in that run's document, counted from 1. `offset` is the offset of the feature's first byte in the
    /// decompressed document.
    public let ordinal: Int
    public let offset: Int
    /// One of `Rejection.Reason`.
    public let reason: String
    public let message: String
    /// The feature's size in bytes. If `isCut`, fewer bytes are stored.
    public let size: Int
    public let isCut: Bool
    public let count: Int
    public let firstSeen: Instant
    public let lastSeen: Instant

    /// Calls `body` with each reject, the latest first.
    ///
    /// - Parameter run: only the rejects whose last run is this run; nil for all rejects.
    public static func forEach(
        run: Int?, limit: Int?, on connection: Connection, _ body: @Sendable (Reject) throws -> Void
    ) async throws {
        try await connection.forEachRow(
            of: """
                select id, run, source, ordinal, byte_offset, reason, message, size, cut, count,
                       first_seen, last_seen
                from import.reject
                where \(run) is null or run = \(run)
                order by last_seen desc, id
                limit \(limit)
                """, to: "list the rejects"
        ) { try body(Reject($0)) }
    }

    /// The bytes of a reject as they were in the feed, at most 64 KiB; nil if there is no reject with this ID.
    public static func bytes(of id: Int, on connection: Connection) async throws -> [UInt8]? {
        try await connection.query(
            "select raw from import.reject where id = \(id)", to: "read a reject's bytes"
        ).first?.decode("raw")
    }

    private init(_ row: Row) throws {
        id = try row.decode("id")
        run = try row.decode("run")
        source = try row.decode("source")
        ordinal = try row.decode("ordinal")
        offset = try row.decode("byte_offset")
        reason = try row.decode("reason")
        message = try row.decode("message")
        size = try row.decode("size")
        isCut = try row.decode("cut")
        count = try row.decode("count")
        firstSeen = try row.decode("first_seen")
        lastSeen = try row.decode("last_seen")
    }
}
