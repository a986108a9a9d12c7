import Feed
import PostgreSQL

/// The SQL that moves one batch from the temporary table into `quake`.
enum MergeStatement {
    /// The settings of a worker's session, applied once per connection.
    ///
    /// - A batch joins a few thousand rows, by their keys, with a table of any size. Without fresh statistics, the planner may
    ///   choose to read all of the large table, so such plans are turned off. See also `LookUp`.
    /// - The session leaves the replica role, in which triggers do not fire and changes would be missing from the history.
    /// - If a worker is killed, even in the middle of a statement, its backend notices this within a few seconds, and releases
    ///   the lock on the source.
    /// - When a session ends, it drops its temporary tables. With synchronous replication, this commit would wait for a standby,
    ///   and if the primary has lost its standbys, it would never end. So commits do not wait for standbys here, unless a
    ///   transaction requests it with `waitingForStandbys`.
    /// - Locks already keep workers apart, so READ COMMITTED is enough. If SERIALIZABLE is the default of the database or the
    ///   login, it would only make transactions fail.
    private static let session = """
        select set_config('session_replication_role', 'origin', false)
        where current_setting('session_replication_role') <> 'origin';
        select set_config('import.synchronous_commit', current_setting('synchronous_commit'), false),
               set_config('synchronous_commit', 'local', false)
        where current_setting('synchronous_commit') not in ('local', 'off');
        set jit = off;
        set work_mem = '64MB';
        set default_transaction_isolation = 'read committed';
        set lock_timeout = '30s';
        set client_connection_check_interval = '2s';
        set enable_hashjoin = off;
        set enable_mergejoin = off;
        set enable_seqscan = off;
        select set_config('temp_buffers', '32MB', false) where current_setting('temp_buffers') <> '32MB'
        """

    /// The temporary table for the features of a batch that `quake` lacks or has with other values. The server empties the table
    /// at the end of each transaction. Unlike TRUNCATE, this does not make a new file. Creating the table takes a few
    /// milliseconds, so a document without changes does not create it.
    static let incomingTable = quietly(
        """
        create temporary table if not exists incoming on commit delete rows as
            select \(Property.allCases.list()) from only public.quake with no data
        """)

    /// The temporary table for the rejects of a batch. It is separate, because few documents have rejects.
    static let rejectTable = quietly(
        """
        create temporary table if not exists pg_temp.rejected (
            ordinal bigint, byte_offset bigint, reason text, message text, raw bytea, size bigint, code text
        ) on commit delete rows
        """)

    /// Wraps a script so that the server sends no notice that a table already exists.
    static func quietly(_ script: String) -> String {
        "set client_min_messages = warning; \(script); set client_min_messages = notice"
    }

    /// An expression that makes this transaction's commit wait for standbys as the session's original settings require.
    static let waitingForStandbys: Query = """
        set_config('synchronous_commit', coalesce(nullif(current_setting('import.synchronous_commit', true), ''),
                                                  current_setting('synchronous_commit')), true)
        """

    static func prepare(_ connection: Connection) async throws {
        try await connection.execute(script: session, to: "prepare the session")
    }

    static let incomingColumns = Property.allCases.map(\.column)
    static let rejectedColumns = ["ordinal", "byte_offset", "reason", "message", "raw", "size", "code"]

    /// Selects the rows of a batch that the server needs: the rows that the table lacks or has with other values. The other rows
    /// are noted as present if the document may settle.
    ///
    /// The lock that `Settling.age` takes prevents settling between this statement and the merge. If another transaction changes
    /// an equal row in the meantime, the change counts as later than this document, like a change after the merge.
    static func needed(
        _ rows: (codes: BoundArray<String>, numbers: BoundArray<Int64>), _ seed: Int64, _ settling: Settling
    ) -> Query {
        let isNeeded: Query = "quake.code is null or \(RowFingerprint.ofServer(seed)) <> asked.number"
        let asked: Query = """
            unnest(\(rows.codes), \(rows.numbers)) with ordinality as asked (code, number, position)
            \(unescaped: LookUp.row(of: "asked.code"))
            """
        guard settling.notesPresence else {
            return "select position from \(asked) where \(isNeeded)"
        }
        return """
            with compared as materialized (
                select position, quake.code, quake.ids, quake.time, quake.updated, \(isNeeded) as is_needed from \(asked)
            ),
            noted as (
                insert into pg_temp.present (code, ids, time, updated, is_current)
                select code, ids, time, updated, true from compared where not is_needed
            )
            select position from compared where is_needed
            """
    }

    /// Compares each row of `incoming` with the table. `incoming` has one row per code, in the order of the codes. Notes the
    /// features as present in the document if it may settle.
    ///
    /// A feature counts as older if the row was revised later, unless the times of revision do not tell that (`areUndated`).
    /// `Settling.sift` has already removed the features that newer documents contradict. The
    /// result leaves out most columns, so that the values of unchanged features are not copied.
    private static func compared(_ settling: Settling) -> Query {
        """
        compared as materialized (
            select incoming.ctid as slot,
                   \(unescaped: settling.notesPresence ? "incoming.code, incoming.ids, incoming.time, incoming.updated, quake.time as row_time, quake.updated as row_updated," : "")
                   quake.code is null as is_new, coalesce(quake.updated > incoming.updated and not \(unescaped: areUndated("incoming")), false) as is_older,
                   (\(unescaped: Property.allCases.list("quake.")))
                   is distinct from (\(unescaped: Property.allCases.list("incoming."))) as differs
            from pg_temp.incoming \(unescaped: LookUp.row(of: "incoming.code"))
        )\(unescaped: settling.notesPresence ? presence : "")
        """
    }

    /// The condition that the times of revision do not tell which version is older, so that the version that is merged last wins.
    /// Either neither has a time of revision; then `updated` is the origin time, which a revision may move either way. Or the
    /// row's time is far in the future, so it is wrong. A version without a time of revision counts as older than a version with one.
    private static func areUndated(_ feature: String) -> String {
        "(quake.updated = quake.time and \(feature).updated = \(feature).time or import.is_misdated(quake.updated))"
    }

    /// Notes the features as present. If the table has a later revision of an event than the document, the times of the table's
    /// row are noted, because settling checks whether the document covers the row.
    private static let presence = """
        ,
        noted as (
            insert into pg_temp.present (code, ids, time, updated, is_current)
            select code, ids, case when is_older then row_time else time end,
                   case when is_older then row_updated else updated end, not is_older
            from compared
        )
        """

    /// Merges the rows of `incoming` into the table. Rows that are equal in both are not touched: they get no lock, no WAL record
    /// and no change in the history. The update checks its conditions again, because another worker may have changed the row
    /// after the comparison. Rows are locked in the order of `incoming`, so that concurrent workers do not deadlock.
    static func merge(_ settling: Settling) -> Query {
        """
        with \(compared(settling)),
        merged as (
            insert into public.quake (\(unescaped: Property.allCases.list()))
            select \(unescaped: Property.allCases.list("incoming."))
            from compared join pg_temp.incoming on incoming.ctid = compared.slot
            where not is_older and (is_new or differs)
            on conflict (code) do update
            set \(unescaped: Property.assignments)
            where (excluded.updated >= quake.updated or \(unescaped: areUndated("excluded")))
              and (\(unescaped: Property.allCases.list("quake.")))
                  is distinct from (\(unescaped: Property.allCases.list("excluded.")))
            returning xmax = 0 as inserted
        )
        select count(*) filter (where inserted) as inserted, count(*) filter (where not inserted) as updated,
               (select count(*) from compared where is_older) as stale
        from merged
        """
    }

    /// Replaces rows of `quake` that have a later version than `incoming` according to `pg_temp.finding`, and removes their
    /// features from `incoming`. The other features are compared and merged as usual. A row that was revised after the finding is
    /// not replaced.
    ///
    /// - Parameter features: how many features the service's answer has. If more than a tenth of them and more than 5 would be
    ///   replaced, none is replaced, unless the retraction is `force`.
    static func takeBack(_ features: Int, _ settling: Settling) -> Query {
        """
        with later as materialized (
            select i.ctid as slot, q.code
            from pg_temp.incoming i
            cross join lateral (select code, updated from only public.quake where quake.code = i.code offset 0) as q
            where q.updated > i.updated
              and exists (select from pg_temp.finding f where f.code = q.code and f.here = q.updated and f.kind = 'newer' offset 0)
        ),
        brake as materialized (
            select count(*) as later,
                   not \(settling.retraction == .force) and import.is_too_many(count(*), \(features)::bigint) as holds
            from later
        ),
        taken as (
            update only public.quake q
            set (\(unescaped: Property.allCases.list())) = row (\(unescaped: Property.allCases.list("i.")))
            from later join pg_temp.incoming i on i.ctid = later.slot
            where q.code = later.code and not (select holds from brake)
            returning later.slot, q.code, q.ids, q.time, q.updated
        ),
        dropped as (
            delete from pg_temp.incoming i using taken where i.ctid = taken.slot
        )\(unescaped: settling.notesPresence ? takenPresence : "")
        select later, holds as is_braked, (select count(*) from taken) as taken from brake
        """
    }

    private static let takenPresence = """
        ,
        noted as (
            insert into pg_temp.present (code, ids, time, updated, is_current)
            select code, ids, time, updated, true from taken
        )
        """

    static func preview(_ settling: Settling) -> Query {
        """
        with \(compared(settling))
        select count(*) filter (where is_new and not is_older) as inserted,
               count(*) filter (where not is_new and not is_older and differs) as updated,
               count(*) filter (where is_older) as stale
        from compared
        """
    }

    /// Numbers the rows of `incoming` in the order in which they will be copied, and creates a function that merges them: a hundred
    /// at a time, and one by one where the server refuses a value. The function returns the numbers of the refused rows and the
    /// reasons (see `PostgresError.isRefusedRow`).
    static let refusals = """
        alter table pg_temp.incoming add number integer generated always as identity primary key;
        create function pg_temp.refusals() returns table (number integer, state text, message text)
        language plpgsql
        set search_path = pg_catalog, pg_temp
        as $$
        declare
            last constant integer := (select count(*) from pg_temp.incoming);
            size integer;
            -- Rows up to this number are merged one by one.
            alone integer := 0;
            violated_schema text;
            violated_table text;
        begin
            number := 1;
            while number <= last loop
                size := case when number <= alone then 1 else least(100, last - number + 1) end;
                begin
                    insert into public.quake (\(Property.allCases.list()))
                    select \(Property.allCases.list("incoming."))
                    from pg_temp.incoming \(LookUp.row(of: "incoming.code"))
                    where incoming.number between refusals.number and refusals.number + size - 1
                      and (quake.code is null
                           or (quake.updated <= incoming.updated or \(areUndated("incoming")))
                              and (\(Property.allCases.list("quake."))) is distinct from (\(Property.allCases.list("incoming."))))
                    on conflict (code) do update set \(Property.assignments);
                    number := number + size;
                -- Two rows with the same code in one statement raise cardinality_violation.
                exception when data_exception or program_limit_exceeded or integrity_constraint_violation or raise_exception
                               or cardinality_violation then
                    get stacked diagnostics violated_schema = schema_name, violated_table = table_name;
                    -- A violation in another table, such as the history's, is not the feature's fault. A trigger or a domain that
                    -- refuses a row names no table.
                    if violated_table <> '' and (violated_schema, violated_table) is distinct from ('public', 'quake') then
                        raise;
                    end if;
                    if size > 1 then
                        alone := number + size - 1;
                    else
                        state := sqlstate;
                        message := sqlerrm;
                        return next;
                        number := number + 1;
                    end if;
                end;
            end loop;
        end
        $$
        """

    /// Stores the rejects. Identical bytes are stored once and counted.
    static func keepRejects(run: Int) -> Query {
        """
        insert into import.reject as kept (run, source, ordinal, byte_offset, reason, message, raw, size, count)
        select distinct on (sha256(raw), size, reason)
               \(run), (select source from import.run where id = \(run)), ordinal, byte_offset, reason, message, raw, size,
               count(*) over (partition by sha256(raw), size, reason)
        from pg_temp.rejected
        order by sha256(raw), size, reason, ordinal
        on conflict (hash, size, reason) do update
        set run = excluded.run, source = excluded.source, ordinal = excluded.ordinal, byte_offset = excluded.byte_offset,
            message = excluded.message, count = kept.count + excluded.count, last_seen = excluded.last_seen
        """
    }

    /// Adds a batch's counts to its run, and notes the id of its transaction in the history if the batch changed anything. If the
    /// batch changed nothing, its commit need not wait for the disk. A crash can then lose only the counts of a run that the
    /// crash itself ended.
    static func add(_ counts: inout ImportCounts, to run: Int, on connection: Connection) async throws {
        let sums = ImportCounts.named.map { name, count -> Query in
            "\(unescaped: name) = \(unescaped: name) + \(counts[keyPath: count])"
        }
        let operation = "record the batch's counts"
        let rows = try await connection.query(
            """
            update import.run set \(sums.joined(by: ", "))
            where id = \(run)
            returning \(counts.changedRows ? waitingForStandbys : "set_config('synchronous_commit', 'off', true)"),
                      substring(current_setting('history.transaction', true) from '^[0-9]{1,18}')::bigint as history
            """, to: operation)
        guard let row = rows.first else { throw PostgresError.noRun(run, operation) }
        counts.history = try row.decodeIfPresent("history", as: Int.self).map { $0...$0 }
    }
}
