import Feed
import PostgreSQL

/// The SQL that moves one batch from the temporary table into `quake`.
enum MergeStatement {
    /// What a worker's session needs, once per connection.
    ///
    /// - A batch joins a few thousand rows, by their keys, with a table of any size. Without statistics for the
    ///   temporary table, or with old ones for the large table, the planner may read all of the large table, even once
    ///   for each row. Nested loops over the index never do.
    /// - A session in the replica role would fire no triggers, and its changes would be missing from the history.
    /// - When a worker is killed, its backend notices in the middle of a statement, and frees the source.
    private static let session = """
        select set_config('session_replication_role', 'origin', false)
        where current_setting('session_replication_role') <> 'origin';
        set jit = off;
        set work_mem = '64MB';
        set lock_timeout = '30s';
        set client_connection_check_interval = '2s';
        set enable_hashjoin = off;
        set enable_mergejoin = off;
        set enable_seqscan = off;
        select set_config('temp_buffers', '32MB', false) where current_setting('temp_buffers') <> '32MB'
        """

    /// The temporary table for those features of a batch that the table lacks, or has otherwise. It is emptied at the end of
    /// each transaction, without the new file that TRUNCATE makes. A batch fits in the temporary buffers, and is never
    /// written to disk. Making and dropping a temporary table takes the server a few milliseconds, so a document without
    /// news goes without.
    static let incomingTable = """
        set client_min_messages = warning;
        create temporary table if not exists incoming on commit delete rows as
            select \(Property.list()) from public.quake with no data;
        set client_min_messages = notice
        """

    /// The temporary table for all features of a document that may settle. It may follow another one on the same connection.
    static let presentTable = """
        set client_min_messages = warning;
        create temporary table if not exists present (
            code text not null, ids text[], time timestamptz, is_current boolean not null);
        delete from pg_temp.present;
        set client_min_messages = notice
        """

    /// The temporary table for rejected features, which few documents have.
    static let rejectTable = """
        set client_min_messages = warning;
        create temporary table if not exists pg_temp.rejected (
            ordinal bigint, byte_offset bigint, reason text, message text, raw bytea, size bigint, code text
        ) on commit delete rows;
        set client_min_messages = notice
        """

    static func prepare(_ connection: Connection) async throws {
        try await connection.execute(script: session, to: "prepare the session")
    }

    static let incomingColumns = Property.columns
    static let rejectedColumns = ["ordinal", "byte_offset", "reason", "message", "raw", "size", "code"]

    /// Keeps settling and merging apart until the transaction ends. Any number of workers may merge side by side.
    ///
    /// Settling deletes what a document lacks. A batch of an older document that is merged meanwhile would not see the
    /// deletion, and bring back what was deleted.
    ///
    /// It locks a table of the worker's own, because anyone who may connect can take an advisory lock.
    static func lock(isSettling: Bool) -> String {
        "lock table import.settled in \(isSettling ? "share row exclusive" : "row exclusive") mode"
    }

    /// Compares a document's time with what was settled, and with the database's clock.
    ///
    /// - `is_late`: something is known that the document may be too old for. Then even an event that is not in the table
    ///   may be stale.
    /// - `is_ahead`: the document was made too far in the future to be believed.
    static func age(_ generated: Instant) -> Query {
        """
        select exists (select from import.settled
                       where settled.generated >= to_timestamp(\(generated.milliseconds) / 1000.0))
               or exists (select from import.withdrawn
                          where withdrawn.generated >= to_timestamp(\(generated.milliseconds) / 1000.0)) as is_late,
               to_timestamp(\(generated.milliseconds) / 1000.0) > clock_timestamp() + interval '5 minutes' as is_ahead
        """
    }

    /// Which rows of a batch the server needs: those that the table lacks, or has otherwise. The others are noted as
    /// present, if the document may settle.
    ///
    /// Nobody can settle between this statement and the merge, because of the lock. Whatever else changes an equal row
    /// meanwhile comes after this document, as it would after the merge.
    static func needed(_ rows: RowNumbers, _ document: DocumentState) -> Query {
        let isNeeded: Query = "quake.code is null or \(RowNumber.ofServer(rows.seed)) <> asked.number"
        let asked: Query = """
            unnest(\(rows.codes), \(rows.numbers)) with ordinality as asked (code, number, position)
            left join public.quake on quake.code = asked.code
            """
        guard document.notesPresence else { return "select position from \(asked) where \(isNeeded)" }
        return """
            with compared as materialized (
                select position, quake.code, quake.ids, quake.time, \(isNeeded) as is_needed from \(asked)
            ),
            noted as (
                insert into pg_temp.present (code, ids, time, is_current)
                select code, ids, time, true from compared where not is_needed
            )
            select position from compared where is_needed
            """
    }

    /// For a late document: deletes the events whose later revision in `incoming` is known to be gone.
    static func retractLate(_ generated: Instant, feed: String) -> Query {
        "select import.retract_late(\(feed), to_timestamp(\(generated.milliseconds) / 1000.0)) as retracted"
    }

    /// Says what to do with each row of `incoming`, which has one row per code, in code order.
    ///
    /// A feature is older when the row was revised later, or when a newer document has shown that the event is gone, or
    /// what it is now. The result is narrow: an unchanged feature is not copied.
    ///
    /// - Parameter lateSince: when the document was generated, if anything newer is known.
    private static func compared(_ document: DocumentState, lateSince generated: Instant?) -> Query {
        var (isWithdrawn, isOutdone): (Query, Query) = ("false", "false")
        if let generated {
            func isBetterKnown(revised: Query) -> Query {
                """
                import.is_known_better(
                    import.service_of(incoming.url), to_timestamp(\(generated.milliseconds) / 1000.0), incoming.time,
                    \(revised), \(document.feed))
                """
            }
            isWithdrawn = """
                exists (select from import.withdrawn w
                        where w.code = incoming.code
                          and w.generated >= to_timestamp(\(generated.milliseconds) / 1000.0)
                          and incoming.updated <= w.updated
                          and (w.service is null or w.service = import.service_of(incoming.url))
                          and (w.time is null or import.is_same_time(incoming.time, w.time)))
                or \(isBetterKnown(revised: "incoming.updated"))
                """
            // The row was revised at the same time. A newer document that covers it has the last word.
            isOutdone = isBetterKnown(revised: "'-infinity'")
        }
        return """
            compared as materialized (
                select incoming.ctid as slot,
                       \(unescaped: document.notesPresence ? "incoming.code, incoming.ids, incoming.time," : "")
                       quake.code is null as is_new,
                       case when quake.code is null then \(isWithdrawn)
                            -- In this order: the wide comparison is inlined, and repeated wherever it is named.
                            when quake.updated = incoming.updated
                            then \(isOutdone) and differing.differs
                            else quake.updated > incoming.updated end as is_older,
                       differing.differs
                from pg_temp.incoming left join public.quake on quake.code = incoming.code
                cross join lateral (
                    select (\(unescaped: Property.list("quake.")))
                           is distinct from (\(unescaped: Property.list("incoming."))) as differs) as differing
            )
            """
    }

    /// Notes the features as present in the document.
    private static let presence = """
        noted as (
            insert into pg_temp.present (code, ids, time, is_current)
            select code, ids, time, not is_older from compared
        ),
        """

    /// Merges the batch and counts.
    ///
    /// The join finds equal rows, which are never touched: no lock, no WAL, no change. The conditions of the update are
    /// there in case another worker got in between. Rows are locked in the order of `incoming`, so that two workers
    /// wait for each other rather than deadlock.
    static func merge(_ document: DocumentState, lateSince generated: Instant?) -> Query {
        """
        with \(compared(document, lateSince: generated)),
        \(unescaped: document.notesPresence ? presence : "")
        merged as (
            insert into public.quake (\(unescaped: Property.list()))
            select \(unescaped: Property.list("incoming."))
            from compared join pg_temp.incoming on incoming.ctid = compared.slot
            where not is_older and (is_new or differs)
            on conflict (code) do update
            set \(unescaped: Property.assignments)
            where excluded.updated >= quake.updated
              and (\(unescaped: Property.list("quake.")))
                  is distinct from (\(unescaped: Property.list("excluded.")))
            returning xmax = 0 as inserted
        )
        select count(*) filter (where inserted) as inserted, count(*) filter (where not inserted) as updated,
               (select count(*) from compared where is_older) as stale
        from merged
        """
    }

    /// What the merge would do, without doing or locking anything.
    static func preview(_ document: DocumentState, lateSince generated: Instant?) -> Query {
        """
        with \(compared(document, lateSince: generated)),
        \(unescaped: document.notesPresence ? presence : "")
        counted as (
            select count(*) filter (where is_new and not is_older) as inserted,
                   count(*) filter (where not is_new and not is_older and differs) as updated,
                   count(*) filter (where is_older) as stale
            from compared
        )
        select * from counted
        """
    }

    /// A rejected feature is present in the document all the same.
    static let noteRejects: Query = """
        insert into pg_temp.present (code, is_current)
        select code, false from pg_temp.rejected where code is not null
        """

    /// Keeps identical broken bytes once, and counts them.
    static func keepRejects(run: Int) -> Query {
        """
        insert into import.reject as kept (run, ordinal, byte_offset, reason, message, raw, size, count)
        select distinct on (sha256(raw), size, reason)
               \(run), ordinal, byte_offset, reason, message, raw, size,
               count(*) over (partition by sha256(raw), size, reason)
        from pg_temp.rejected
        order by sha256(raw), size, reason, ordinal
        on conflict (hash, size, reason) do update
        set run = excluded.run, ordinal = excluded.ordinal, byte_offset = excluded.byte_offset,
            message = excluded.message, count = kept.count + excluded.count, last_seen = excluded.last_seen
        """
    }

    /// Adds a batch's counts, and returns its transaction in the history if it changed anything. If it changed no row,
    /// the commit need not wait for the disk: a crash could lose only counts, of a run that died.
    static func addCounts(_ counts: ImportCounts, run: Int) -> Query {
        """
        update import.run
        set seen = seen + \(counts.seen), inserted = inserted + \(counts.inserted),
            updated = updated + \(counts.updated), unchanged = unchanged + \(counts.unchanged),
            stale = stale + \(counts.stale), rejected = rejected + \(counts.rejected),
            superseded = superseded + \(counts.superseded), retracted = retracted + \(counts.retracted),
            bytes = bytes + \(counts.bytes)
        where id = \(run)
        returning \(unescaped: counts.changedRows ? "" : "set_config('synchronous_commit', 'off', true),")
                  substring(current_setting('history.transaction', true) from '^[0-9]{1,18}')::bigint as history
        """
    }
}
