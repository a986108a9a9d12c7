import PostgreSQL

/// Removes old history, runs and rejects.
public struct Pruning: Sendable {
    /// History younger than this always stays.
    public var keep: Duration
    /// History older than this is removed even if a reader still needs it. That reader then takes a fresh snapshot.
    public var keepAtMost: Duration?
    /// Runs and rejects younger than this always stay.
    public var keepRuns = Duration.seconds(90 * 86_400)

    public init(keep: Duration, keepAtMost: Duration?) {
        self.keep = keep
        self.keepAtMost = keepAtMost
    }

    public struct Outcome: Sendable, Equatable {
        public var transactions = 0
        public var changes = 0
        public var runs = 0
        public var rejects = 0
        /// History begins after this token; 0 if nothing was ever pruned.
        public var horizon = 0
        /// The name of a reader that still needs history older than `keep`.
        public var keptFor: String?
        /// The name of a citation that needs history older than `keep`.
        public var keptForCitation: String?
    }

    /// Removes history step by step, in one transaction per step. If pruning is interrupted, the finished steps stay finished,
    /// and the remaining history is intact.
    public func run(on connection: Connection) async throws -> Outcome {
        var outcome = Outcome()
        let most = keepAtMost.map { $0 / .seconds(1) }
        while true {
            let step = try await connection.write(to: "prune the history") {
                try await connection.query(
                    """
                    select transactions, changes
                    from history.prune(make_interval(secs => \(keep / .seconds(1))), make_interval(secs => \(most)))
                    """, to: "prune the history")[0]
            }
            let transactions: Int = try step.decode("transactions")
            outcome.transactions += transactions
            outcome.changes += try step.decode("changes")
            if transactions == 0 { break }
        }
        let operation = "read the history's horizon"
        let rests = try await connection.query(
            """
            select pruned_token as horizon,
                   (select name from history.reader
                    -- As in history.prune, only reports dated within 24 hours of now count, and only of readers whose next changes
                    -- are not pruned yet.
                    where seen_at between now() - interval '24 hours' and now() + interval '24 hours'
                      and token >= pruned_token
                      -- The oldest transaction that remains. Without the condition on pruned_token, the search could pass index
                      -- entries of all deleted transactions.
                      and exists (select from (select transaction.token, committed_at from history.transaction
                                               where transaction.token > pruned_token
                                               order by transaction.token limit 1) as oldest
                                  where oldest.token > reader.token
                                    and committed_at <= now() - make_interval(secs => \(keep / .seconds(1)))
                                    and coalesce(committed_at > now() - make_interval(secs => \(most)), true))
                    order by token, name limit 1) as kept_for,
                   (select name from history.citation
                    where exists (select from history.transaction
                                  where transaction.token > citation.token
                                    and committed_at <= now() - make_interval(secs => \(keep / .seconds(1))))
                    order by token, name limit 1) as kept_for_citation
            from history.store
            """, to: operation)
        guard let rest = rests.first else { throw PostgresError.noRow(in: "history.store", operation) }
        let age = keepRuns / .seconds(1)
        // Deletes the rejects that no run has found again within `keepRuns`.
        outcome.rejects = try await connection.write(to: "prune the rejects") {
            try await connection.execute(
                "delete from import.reject where last_seen < now() - make_interval(secs => \(age))",
                to: "prune the rejects")
        }
        // The last run and the last successful run of each source stay, because they show how fresh the source is. Runs that have
        // not ended stay, too.
        outcome.runs = try await connection.write(to: "prune the runs") {
            try await connection.execute(
                """
                delete from import.run
                where started < now() - make_interval(secs => \(age)) and outcome <> 'running'
                  and id not in (select last.run from import.last_run as last)
                  and id not in (select done.id
                                 from import.last_run as last, lateral (
                                     select id from import.run
                                     where run.source = last.source and outcome = 'done'
                                     order by finished desc limit 1) as done)
                """, to: "prune the runs")
        }
        outcome.horizon = try rest.decode("horizon")
        outcome.keptFor = try rest.decodeIfPresent("kept_for")
        outcome.keptForCitation = try rest.decodeIfPresent("kept_for_citation")
        return outcome
    }
}
