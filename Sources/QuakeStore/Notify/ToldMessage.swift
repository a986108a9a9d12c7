import Alerts
import Feed
import PostgreSQL

/// A message of the last 30 days, and the state of its delivery.
public struct ToldMessage: Sendable {
    public let message: Message
    public let createdAt: Instant
    public let attempts: Int
    public let state: State

    public enum State: Sendable, Equatable {
        case delivered(Instant)
        /// `reason` says why the last failed attempt failed; nil if none has failed.
        case waiting(next: Instant, reason: String?)
        case givenUp(Instant, reason: String?)
    }

    /// The latest messages, the newest first.
    ///
    /// - Parameter limit: the largest number of messages; nil for all.
    public static func latest(_ limit: Int?, on connection: Connection) async throws -> [ToldMessage] {
        try await connection.query(
            """
            select message::text as message, created_at, attempts, next_attempt_at, delivered_at, given_up_at, reason
            from notify.outbox order by id desc limit \(limit)
            """, to: "read the latest messages"
        ).map { row in
            let reason = try row.decodeIfPresent("reason", as: String.self)
            let state: State =
                if let at = try row.decodeIfPresent("delivered_at", as: Instant.self) {
                    .delivered(at)
                } else if let at = try row.decodeIfPresent("given_up_at", as: Instant.self) {
                    .givenUp(at, reason: reason)
                } else {
                    .waiting(next: try row.decode("next_attempt_at"), reason: reason)
                }
            return ToldMessage(
                message: try NotifierState.decoded(row.decode("message")),
                createdAt: try row.decode("created_at"), attempts: try row.decode("attempts"), state: state)
        }
    }
}
