import Feed
import PostgreSQL

/// Removes history that nobody needs any more.
public struct Pruning: Sendable {
    /// How much of the history stays, in any case.
    public var keep: Duration
    /// History older than this goes even when a reader still needs it: that one will take a fresh snapshot.
    public var keepAtMost: Duration?

    public init(keep: Duration, keepAtMost: Duration?) {
        self.keep = keep
        self.keepAtMost = keepAtMost
    }

    /// What was removed, and what keeps the rest.
    public struct Outcome: Sendable, Equatable {
        public var transactions = 0
        public var changes = 0
        /// History begins after this token, and where nothing was ever pruned it is 0.
        public var horizon = 0
        /// The reader that history older than `keep` stays for.
        public var keptFor: String?
    }

    /// Removes it in steps, each a transaction of its own: cut short, what is gone is gone and the rest is whole.
    public func run(on connection: Connection) async throws -> Outcome {
        var outcome = Outcome()
        while true {
            let step = try await connection.query(
                """
                select transactions, changes
                from history.prune(make_interval(secs => \(keep / .seconds(1))),
                                   make_interval(secs => \(keepAtMost.map { $0 / .seconds(1) })))
                """, to: "prune the history")[0]
            let transactions: Int = try step.decode("transactions")
            outcome.transactions += transactions
            outcome.changes += try step.decode("changes")
            if transactions == 0 { break }
        }
        let rest = try await connection.query(
            """
            select pruned_token as horizon,
                   (select name from history.reader
                    where seen_at > now() - interval '24 hours'
                      and exists (select from history.transaction
                                  where transaction.token = (select min(token) from history.transaction)
                                    and transaction.token > reader.token
                                    and committed_at <= now() - make_interval(secs => \(keep / .seconds(1))))
                    order by token, name limit 1) as kept_for
            from history.store
            """, to: "read the history's horizon")[0]
        outcome.horizon = try rest.decode("horizon")
        outcome.keptFor = try rest.decodeIfPresent("kept_for")
        return outcome
    }
}
