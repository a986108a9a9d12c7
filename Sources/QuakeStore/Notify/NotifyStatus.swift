import Feed
import PostgreSQL

/// The state of the deliveries of `quakes notify`.
public struct NotifyStatus: Sendable, Equatable {
    public let receivers: [Receiver]

    public struct Receiver: Sendable, Equatable {
        public let name: String
        /// Messages that are to be delivered.
        public let waiting: Int
        /// Earthquakes that wait for the end of quiet hours, or for a digest.
        public let held: Int
        /// The age of the oldest message that waits.
        public let age: Duration?
        /// How long deliveries of waiting messages have been failing; nil if none has failed.
        public let failing: Duration?
        public let failingSince: Instant?
        /// Why the newest undelivered message with a failed attempt could not be delivered.
        public let reason: String?
        /// Messages of the last 30 days that were given up.
        public let givenUp: Int
        public let deliveredAt: Instant?
    }

    public static func read(on connection: Connection) async throws -> NotifyStatus {
        let rows = try await connection.query(
            """
            select receiver, waiting, held, clock_timestamp() - oldest_at as age, clock_timestamp() - failing_since as failing,
                   failing_since, reason, given_up, delivered_at
            from notify.receiver order by receiver
            """, to: "read how deliveries stand")
        return NotifyStatus(
            receivers: try rows.map { row in
                Receiver(
                    name: try row.decode("receiver"), waiting: try row.decode("waiting"),
                    held: try row.decode("held"), age: try row.decodeIfPresent("age"),
                    failing: try row.decodeIfPresent("failing"),
                    failingSince: try row.decodeIfPresent("failing_since"),
                    reason: try row.decodeIfPresent("reason"), givenUp: try row.decode("given_up"),
                    deliveredAt: try row.decodeIfPresent("delivered_at"))
            })
    }
}
