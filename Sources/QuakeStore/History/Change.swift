import PostgreSQL

public struct Change: Sendable {
    public enum Operation: String, Sendable {
        case insert, update, delete
    }

    public let token: Int
    public let committedAt: CommitTime
    /// The name of the program or person that made the change. `context` names the operation that the change was part of, such as
    /// `run 7`.
    public let author: String
    public let context: String?
    public let ordinal: Int
    public let code: String
    public let operation: Operation
    public let reason: String?
    /// The overwritten values as a JSON object: the old values of the changed columns for an update, the whole row for a delete.
    public let before: String?
    /// The new values of an update's changed columns, as a JSON object.
    public let after: String?
    /// The columns that an update changed, in the table's column order.
    public let members: [Member]
    /// The magnitude and the place of an inserted or deleted event, if the selection has set `describesEvents`.
    public let magnitude: Double?
    public let place: String?

    public struct Member: Sendable, Equatable {
        public let column: String
        public let old: String
        public let new: String
    }

    init(_ row: Row) throws {
        token = try row.decode("token")
        committedAt = try row.decode("committed_at")
        author = try row.decode("author")
        context = try row.decodeIfPresent("context")
        ordinal = try row.decode("ordinal")
        code = try row.decode("key")
        guard let operation = Operation(rawValue: try row.decode("operation")) else {
            throw RowError(column: "operation", problem: "is not a known operation")
        }
        self.operation = operation
        reason = try row.decodeIfPresent("reason")
        before = try row.decodeIfPresent("before")
        after = try row.decodeIfPresent("after")
        let columns: [String] = try row.decodeIfPresent("names") ?? []
        let olds: [String] = try row.decodeIfPresent("olds") ?? []
        let news: [String] = try row.decodeIfPresent("news") ?? []
        members = zip(columns, zip(olds, news)).map { Member(column: $0, old: $1.0, new: $1.1) }
        magnitude = try row.decodeIfPresent("magnitude")
        place = try row.decodeIfPresent("place")
    }
}
