import PostgreSQL
import Synchronization

/// How far a reader has come: the token of the last transaction it has applied, and what identifies that transaction
/// beyond its number.
///
/// After a crash of the reader it is still worth all it was: what came after it can be read again. It is worth
/// nothing once the server's past is another one (restored, failed over with a loss, pruned beyond it);
/// `history.check` tells.
public struct Position: Sendable, Equatable {
    /// Identity of the store, a UUID.
    public let store: String
    public let token: Int
    /// When that transaction was committed, in UTC and to the microsecond, such as
    /// `2026-11-21T09:00:00.123456Z`: an opaque part of the position.
    public let committedAt: String

    public init(store: String, token: Int, committedAt: String) {
        self.store = store
        self.token = token
        self.committedAt = committedAt
    }
}
