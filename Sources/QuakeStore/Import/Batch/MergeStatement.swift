import Feed
import PostgreSQL

/// The SQL of one batch: from the temporary table into `quake`.
enum MergeStatement {
    /// What the worker's session needs, once for each connection.
    ///
    /// - A batch joins a few thousand rows with a table of any size by its key. Without statistics of the temporary
    ///   table, or with old ones of the large one, the planner may prefer to read all of the large one, even once for
    ///   each row; nested loops over the index never do.
    /// - A session that plays replica would fire no trigger, and its changes would be missing from history.
    /// - The backend of a worker that was killed notices it in the middle of a statement, and frees the source.
    /// - The tables empty themselves at the end of each transaction, without a new file as TRUNCATE makes one; a batch
    ///   fits the buffers of temporary tables, and is never written to disk.
    private static let session = """
        set client_min_messages = warning;
        select set_config('session_replication_role', 'origin', false)
        where current_setting('session_replication_role') <> 'origin';
        set jit = off;
        set work_mem = '64MB';
        select set_config('temp_buffers', '32MB', false) where current_setting('temp_buffers') <> '32MB';
        set lock_timeout = '30s';
        set client_connection_check_interval = '2s';
        set enable_hashjoin = off;
        set enable_mergejoin = off;
        set enable_seqscan = off;
        create temporary table if not exists incoming on commit delete rows as
            select \(Property.list()) from public.quake with no data;
        create temporary table if not exists rejected (
            ordinal bigint, byte_offset bigint, reason text, message text, raw bytea, size bigint, code text
        ) on commit delete rows;
        create temporary table if not exists present (code text not null, ids text[], is_current boolean not null);
        set client_min_messages = notice
        """

    static func prepare(_ connection: Connection) async throws {
        try await connection.execute(script: session, to: "prepare the session")
    }

    static let incomingColumns = Property.columns
    static let rejectedColumns = ["ordinal", "byte_offset", "reason", "message", "raw", "size", "code"]

    /// What is to be done with each row of `incoming`, which has one row a code, in the order of the codes.
    ///
    /// A feature is older when the row was revised later; and when a newer document has shown that the event is gone, or
    /// what it is now. The result is narrow: of an unchanged feature nothing is copied.
    ///
    /// - Parameter generated: when the document was made.
    private static func compared(_ document: DocumentState) -> Query {
        let generated = document.generated
        let isOld: Query = """
            \(generated?.milliseconds) is not null
            and (select exists (select from import.settled
                                where settled.generated > to_timestamp(\(generated?.milliseconds) / 1000.0)))
            """
        let isBetterKnown: Query = """
            import.is_known_better(import.service_of(incoming.url), to_timestamp(\(generated?.milliseconds) / 1000.0),
                                   incoming.time, incoming.updated)
            """
        return """
            compared as materialized (
                select incoming.ctid as slot,
                       \(unescaped: document.notesPresence ? "incoming.code, incoming.ids," : "")
                       quake.code is null as is_new,
                       case when quake.code is null
                            then exists (select from import.withdrawn
                                         where withdrawn.code = incoming.code
                                           and withdrawn.generated >= to_timestamp(\(generated?.milliseconds) / 1000.0))
                                 or \(isOld) and \(isBetterKnown)
                            -- In this order: the wide comparison is inlined, and made as often as it is asked for.
                            when quake.updated = incoming.updated
                            then \(isOld) and differing.differs and \(isBetterKnown)
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
            insert into pg_temp.present (code, ids, is_current) select code, ids, not is_older from compared
        ),
        """

    /// Merges the batch and counts.
    ///
    /// Rows that are equal are found by the join and never touched: no lock, no WAL, no change. The conditions of the
    /// update are for the case that another worker came in between. Rows are locked in the order of `incoming`, so that two
    /// workers wait for each other rather than deadlock.
    static func merge(_ document: DocumentState) -> Query {
        """
        with \(compared(document)),
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

    /// Whether something newer is known than a document of this time could tell, so that even an event that is not there
    /// may be stale.
    static func isOutdated(_ generated: Instant) -> Query {
        """
        select exists (select from import.settled
                       where settled.generated > to_timestamp(\(generated.milliseconds) / 1000.0))
               or exists (select from import.withdrawn
                          where withdrawn.generated >= to_timestamp(\(generated.milliseconds) / 1000.0)) as outdated
        """
    }

    /// What the merge would do, without doing or locking anything.
    static func preview(_ document: DocumentState) -> Query {
        """
        with \(compared(document)),
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

    /// A rejected feature is present all the same.
    static let noteRejects: Query = """
        insert into pg_temp.present (code, is_current)
        select code, false from pg_temp.rejected where code is not null
        """

    /// The same broken bytes are kept once and counted.
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

    /// Adds a batch's counts, and tells which transaction of history it is, if it changed anything. Of one that changed no
    /// row the commit need not wait for the disk: only the counts could be lost, of a run that died.
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
                  nullif(split_part(current_setting('history.transaction', true), ' ', 1), '')::bigint as history
        """
    }
}
