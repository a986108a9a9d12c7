import PostgreSQL

/// Selects changes of the history. They are read in token order.
public struct ChangeSelection: Sendable {
    public var after: Int?
    public var code: String?
    public var author: String?
    /// The greatest number of changes; nil for all. Without `after`, the newest changes are read. With `after`, the first changes
    /// after it are read. The last of their transactions is then read whole, so that reading can continue after its token.
    public var limit: Int?
    /// Whether inserts and deletes include the event's magnitude and place. This takes one look-up for each insert.
    public var describesEvents = false

    public init() {}

    /// Calls `body` with each change as it arrives. All changes are from one snapshot, and memory use is constant. The first
    /// change arrives at once, even from a long history.
    ///
    /// - Parameter begin: called once before the changes, with the beginning of the history in that snapshot.
    /// - Returns: whether there are more changes than the limit allowed.
    /// - Throws: `PastError` when history does not reach back to `after`, or `after` is higher than the newest token.
    @discardableResult
    public func forEach(
        on connection: Connection, beginning begin: (Horizon) -> Void = { _ in },
        _ body: @Sendable (Change) throws -> Void
    ) async throws -> Bool {
        try await connection.holdingCatalogue(to: "read the history") {
            let horizon = try await Horizon.read(on: connection)
            if let after { try await PastMoment.check(after, after: horizon, on: connection) }
            begin(horizon)
            var pages = try await ChangePages(
                self, after: .init(token: after ?? horizon.token, ordinal: .max), on: connection)
            var hasMore = false
            if let limit {
                hasMore =
                    after == nil
                    ? try await pages.skipAllButTheNewest(limit)
                    : try await pages.endWithTheTransaction(of: limit)
            }
            try await pages.forEach(body)
            return hasMore
        }
    }
}
