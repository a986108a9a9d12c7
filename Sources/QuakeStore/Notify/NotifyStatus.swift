import Feed
import PostgreSQL

/// The state of the deliveries of `quakes notify`.
public struct NotifyStatus: Sendable, Equatable {
    public let receivers: [Receiver]

    public struct Receiver: Sendable, Equatable {
        public let name: String
        /// The number of messages that are neither delivered nor given up.
        public let waiting: Int
        /// The number of earthquakes whose message waits for the end of quiet hours, or for a digest.
        public let held: Int
        /// The age of the oldest waiting message.
        public let age: Duration?
        /// The time since the first failed attempt to deliver one of the waiting messages; nil if no attempt has failed.
        public let failing: Duration?
        public let failingSince: Instant?
        /// The last error of the newest undelivered message that has failed, or the reason why it was given up.
        public let reason: String?
        /// The number of messages of the last 30 days that were given up.
        public let givenUp: Int
        /// The number of messages that were given up within the last hour.
        public let givenUpLately: Int
        public let deliveredAt: Instant?
    }

    public static func read(on connection: Connection) async throws -> NotifyStatus {
        let rows = try await connection.query(
            """
            select receiver, waiting, held, clock_timestamp() - oldest_at as age, clock_timestamp() - failing_since as failing,
                   failing_since, reason, given_up, given_up_lately, delivered_at
            from notify.receiver order by receiver
            """, to: "read the state of the deliveries")
        return NotifyStatus(
            receivers: try rows.map { row in
                Receiver(
                    name: try row.decode("receiver"), waiting: try row.decode("waiting"),
                    held: try row.decode("held"), age: try row.decodeIfPresent("age"),
                    failing: try row.decodeIfPresent("failing"),
                    failingSince: try row.decodeIfPresent("failing_since"),
                    reason: try row.decodeIfPresent("reason"), givenUp: try row.decode("given_up"),
                    givenUpLately: try row.decode("given_up_lately"),
                    deliveredAt: try row.decodeIfPresent("delivered_at"))
            })
    }
}
