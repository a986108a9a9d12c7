import Feed
import PostgreSQL

/// The information that one document gives about existing and deleted events, and the statements that apply it to the table. The
/// rules and the tables for them are described at the beginning of `migrations/0004_settling.sql`.
///
/// In each of the document's transactions, `age` is called before features are merged. If a newer document is already known,
/// `sift` removes the features that newer documents contradict. The merge notes the features in `pg_temp.present`. In the last
/// transaction, `settle` deletes the events that no longer exist according to the document.
struct Settling {
    /// When the document was made; nil while the time is unknown.
    let made: Instant?
    /// The service and the name of the feed, such as `all_day`; empty if the document does not say.
    let service: String
    let feed: String
    /// Whether the document may settle. If so, its features are noted in `pg_temp.present`.
    let notesPresence: Bool
    var retraction: Importer.Retraction
    let rejectLimit: RejectLimit
    /// Whether the document is a sweep. An event that a sweep lacks counts as deleted only if the sweep has a window (see
    /// `Sweep`).
    let isSweep: Bool
    /// The service whose earlier versions replace the table's later ones; nil unless the import is a repair.
    var corrector: String?
    /// The feed and the window of the document; nil before the last batch, and if the document can't be settled.
    var identity: FeedIdentity?
    /// The events that the document states as deleted, with the times of the deletions. They count even without an identity,
    /// because any document may state deletions.
    var deletions = StatedDeletions()

    /// Creates or empties the temporary table for the features of a document that may settle. Temporary tables are not vacuumed
    /// automatically, so a large table is truncated. A small table is emptied with DELETE: TRUNCATE makes a new file, which would
    /// cost too much for each of many small documents.
    static func prepare(_ connection: Connection) async throws {
        try await connection.execute(
            script: MergeStatement.quietly(
                """
                create temporary table if not exists present (
                    code text collate "C" not null, ids text[], time timestamptz, updated timestamptz,
                    is_current boolean not null);
                do $$
                begin
                    if pg_relation_size('pg_temp.present') > 262144 then
                        truncate pg_temp.present;
                    else
                        delete from pg_temp.present;
                    end if;
                end
                $$
                """), to: "prepare for the document's features")
    }

    static let noteRejects: Query = """
        insert into pg_temp.present (code, is_current)
        select code, false from pg_temp.rejected where code is not null
        """

    /// Keeps settling and merging apart until the transaction ends, and looks for newer documents. If a batch of an older
    /// document were merged while another document settles, the merge would not see the deletions, and would bring the deleted
    /// events back. Any number of workers may merge in parallel. The lock is on a table, because anyone who may connect can take
    /// an advisory lock.
    ///
    /// The lock and the query are separate statements, so that the query sees everything that was committed while the first
    /// statement waited for the lock.
    ///
    /// - Returns: `isLate`: whether a document made at the same time or later is known, so that even a feature that is not in the
    ///   table may be stale; `isAhead`: whether the document is dated too far in the future.
    func age(isDryRun: Bool, on connection: Connection) async throws -> (isLate: Bool, isAhead: Bool) {
        if !isDryRun {
            let settles = (identity != nil || deletions.count > 0) && retraction != .never
            try await connection.execute(
                script:
                    "lock table import.settled in \(settles ? "share row exclusive" : "row exclusive") mode",
                to: "wait for other documents")
        }
        guard let made else { return (false, false) }
        let row = try await connection.query(
            """
            select import.is_late(made.made) as is_late, made.made > clock_timestamp() + interval '5 minutes' as is_ahead
            from (select \(made) as made) as made
            """, to: "look for newer documents")[0]
        return (try row.decode("is_late"), try row.decode("is_ahead"))
    }

    /// Removes from `pg_temp.incoming` the features that newer documents contradict, and counts the removed features.
    func sift(_ counts: inout ImportCounts, isDryRun: Bool, on connection: Connection) async throws {
        let row = try await connection.query(
            "select stale, retracted from import.sift(\(made), \(service), \(feed), \(notesPresence), \(isDryRun))",
            to: "compare with newer documents")[0]
        counts.stale += try row.decode("stale", as: Int.self)
        counts.retracted += try row.decode("retracted", as: Int.self)
    }

    /// Deletes the events that no longer exist according to the document.
    ///
    /// - If too many features were rejected, nothing is deleted.
    /// - If a feed has a rejected feature with an unreadable id, nothing is deleted either: that feature could be any event.
    /// - If a sweep has one, or a document that is not a feed and only states deletions, the events that are stated as deleted
    ///   are deleted, but no event counts as renamed or missing. Otherwise the sweep's cursor could never move past the feature.
    func settle(
        _ counts: inout ImportCounts, before: ImportCounts, isDryRun: Bool, on connection: Connection
    ) async throws {
        guard identity != nil || deletions.count > 0 else { return }
        counts.stated = deletions.count
        var document = before
        document += counts
        let isFeed = identity != nil && !isSweep
        guard retraction != .never, counts.brake == nil, !isFeed || document.unreadable == 0,
            document.pass(rejectLimit)
        else {
            counts.isUnsettled = true
            return
        }
        if identity == nil {
            try await Self.prepare(connection)
        } else if document.unreadable > 0 {
            try await connection.query("update pg_temp.present set ids = null", to: "clear the features' ids")
        }
        // A document that does not say when it was made counts as made now.
        let window = document.unreadable > 0 ? nil : identity?.window
        let moment = identity?.generated ?? made ?? .now
        let name = identity?.name ?? "the document"
        // `deletions` is a copy, because a retry of the transaction has to store the deletions again.
        var deletions = deletions
        if !deletions.inMemory.isEmpty {
            try await deletions.store(of: identity?.service ?? "", at: moment, on: connection)
        }
        let row = try await connection.query(
            """
            select superseded, retracted, in_window, would_supersede, would_retract, is_braked, is_ahead
            from import.settle(\(identity?.service), \(identity?.name), \(moment),
                               \(window?.lowerBound), \(window?.upperBound),
                               \(deletions.count > 0), \(document.seen), \(retraction == .force), \(isDryRun))
            """, to: "settle \(name)")[0]
        counts.superseded += try row.decode("superseded", as: Int.self)
        counts.retracted += try row.decode("retracted", as: Int.self)
        if try row.decode("is_ahead") { counts.isAhead = true }
        if try row.decode("is_braked") {
            counts.brake = BrakeHeld(
                feed: name, missing: try row.decode("would_retract"),
                renamed: try row.decode("would_supersede"), total: try row.decode("in_window"))
        }
    }
}
