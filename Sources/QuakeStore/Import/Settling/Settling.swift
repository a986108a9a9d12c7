import Feed
import PostgreSQL

/// What one document states about which events exist and which are gone, and the changes to the table that follow. The rules, and the
/// records that they need, are at the beginning of `migrations/0004_settling.sql`.
///
/// In each of the document's transactions, `age` comes before its features are merged. If the document turns out to be late,
/// `sift` removes what newer ones contradict. The merge notes the features in `pg_temp.present`, and in the last transaction
/// `settle` deletes the events that are gone according to the document.
struct Settling {
    /// When the document was made; nil while that is unknown.
    let made: Instant?
    /// The name of the feed, such as `all_day`; empty if the document does not say.
    let feed: String
    /// Whether the document may settle, which requires that its features are noted.
    let notesPresence: Bool
    let retraction: Importer.Retraction
    let rejectLimit: RejectLimit
    /// Whether the document is a sweep, in which a missing event is not gone.
    let isSweep: Bool
    /// The service whose earlier versions replace the table's later ones; nil for all but a repair.
    var corrector: String?
    /// The feed and the window of the document. Set with the last batch of a document that can be settled.
    var identity: FeedIdentity?
    /// The events that the document says are gone, and since when. It counts without an identity, too: any document may say so.
    var deletions = StatedDeletions()

    /// Makes the temporary table for the features of a document that may settle, or empties it. Nothing vacuums a temporary table, so
    /// one that has grown gets a new file, which is too much for each of many small documents.
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

    /// Keeps settling and merging apart until the transaction ends, and looks for settled documents. A batch of an older document
    /// that is merged while another one settles would not see the deletion, and bring the event back. Any number of workers may
    /// merge side by side. The lock is one on a table, because anyone who may connect can take an advisory lock.
    ///
    /// Two statements: the second sees what was committed while the first waited.
    ///
    /// - Returns: whether something is known that the document may be too old for, so that even an event that is not in the
    ///   table may be stale; and whether the document was made too far in the future to be believed.
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
            select exists (select from import.settled where settled.generated >= made.made)
                   or exists (select from import.withdrawn where withdrawn.generated >= made.made) as is_late,
                   made.made > clock_timestamp() + interval '5 minutes' as is_ahead
            from (select \(made) as made) as made
            """, to: "look for newer documents")[0]
        return (try row.decode("is_late"), try row.decode("is_ahead"))
    }

    /// Takes from `pg_temp.incoming` what newer documents know better, and counts it.
    func sift(_ counts: inout ImportCounts, isDryRun: Bool, on connection: Connection) async throws {
        let row = try await connection.query(
            "select stale, retracted from import.sift(\(made), \(feed), \(notesPresence), \(isDryRun))",
            to: "compare with newer documents")[0]
        counts.stale += try row.decode("stale", as: Int.self)
        counts.retracted += try row.decode("retracted", as: Int.self)
    }

    /// Deletes what the document shows to be gone, unless too many features were rejected, or the id of one can't be read:
    /// that feature could be any event. With such a feature, a sweep shows neither that an event was renamed nor that one is
    /// missing, only what was deleted: its cursor could never move past the feature otherwise. The same holds for a document that is not a
    /// feed, which only says what is gone.
    func settle(
        _ counts: inout ImportCounts, before: ImportCounts, isDryRun: Bool, on connection: Connection
    ) async throws {
        guard identity != nil || deletions.count > 0 else { return }
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
            try await connection.query("update pg_temp.present set ids = null", to: "leave out old ids")
        }
        // A document that does not say when it was made is believed to be of now.
        let window = document.unreadable > 0 ? nil : identity?.window
        let moment = identity?.generated ?? made ?? .now
        let name = identity?.name ?? "the document"
        // A copy: if the transaction is repeated, they are stored again.
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
