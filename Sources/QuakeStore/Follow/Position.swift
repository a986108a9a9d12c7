import PostgreSQL
import Synchronization

/// How far a reader has come: the token of the last transaction that it has applied, and what else identifies that
/// transaction.
///
/// A position survives a crash of the reader: everything after it can be read again. It no longer holds once the server
/// was restored, failed over with a loss, or pruned beyond it; `history.check` detects that.
public struct Position: Sendable, Equatable {
    /// The store's identity, a UUID.
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
