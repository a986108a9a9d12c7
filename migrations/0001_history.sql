-- The history of any table that has a text key: who changed what, in the order in which the changes became visible.
--
-- A transaction gets its number, the token, when it commits. If it were drawn earlier, readers would miss changes. For example, a
-- reader that has already seen token 7 would miss token 6 if its transaction commits later.
--
-- Keys, names and other indexed text are compared by their bytes (collate "C"), here and in the other files. This is cheaper, and
-- an upgrade of the system's collations can't corrupt an index.

create schema history;
comment on schema history is
    'Persistent history: every change of the tracked tables, in commit order. A reader keeps a token and asks for the changes after it.';

create table history.store (
    store uuid primary key default gen_random_uuid(),
    pruned_token bigint not null default 0,
    pruned_committed_at timestamptz not null default now(),
    pruned_nonce text not null default left(gen_random_uuid()::text, 8),
    seen_token bigint,
    seen_at timestamptz,
    is_only boolean not null unique default true check (is_only)
);
comment on table history.store is 'A single row: the identity of this store, and where its history begins.';
comment on column history.store.store is 'Identity of the store. A token has no meaning in another store.';
comment on column history.store.pruned_token is 'The highest token that was pruned; 0 before the first pruning.';
comment on column history.store.pruned_committed_at is
    'When the transaction of pruned_token was committed; before the first pruning, when the store was created.';
comment on column history.store.pruned_nonce is 'The nonce of the transaction of pruned_token; before the first pruning, a nonce that was drawn when the store was created.';
comment on column history.store.seen_token is
    'The newest token, recorded by a pruning that found this token''s commit time in the future; null if that has never happened. See history.prune.';
comment on column history.store.seen_at is 'The time of that pruning.';
comment on column history.store.is_only is 'Keeps the table at one row.';
insert into history.store default values;

create sequence history.token;
comment on sequence history.token is 'Numbers the transactions. A transaction draws its token while it holds the commit lock.';
-- The clock is a sequence and not a table, because a table would make concurrent SERIALIZABLE transactions fail.
create sequence history.clock minvalue 0 start 0;
comment on sequence history.clock is 'Time of the last tracked commit, in microseconds since 1970.';
create sequence history.holder;
comment on sequence history.holder is 'PostgreSQL''s number for the transaction that drew the last token. It holds the commit lock until it ends.';
-- A transaction takes this lock before it draws its token, and holds it until its commit is visible. The lock is on a table,
-- because any login can take an advisory lock.
create table history.commit_lock ();
comment on table history.commit_lock is 'Always empty. Transactions that changed a tracked table lock this table when they commit, so their commits have an order.';

create table history.transaction (
    id bigint generated always as identity primary key,
    xid xid8 not null,
    token bigint,
    author text collate "C" not null,
    context text,
    committed_at timestamptz,
    nonce text,
    channels text[],
    changes bigint not null
);
-- Finds the running transaction's own row. Only `on conflict` uses this index: a query that reads it would make concurrent
-- SERIALIZABLE transactions fail.
create unique index transaction_open on history.transaction (xid) where token is null;
comment on index history.transaction_open is 'Transactions without a token yet, one row each.';
create index transaction_author on history.transaction (author, token) where token is not null;
comment on index history.transaction_author is 'One author''s transactions, in commit order.';
-- Created after the other indexes, because the planner takes the newest of several indexes with equal costs.
create unique index transaction_token on history.transaction (token) where token is not null;
comment on index history.transaction_token is 'Transactions in commit order.';
comment on table history.transaction is 'Transactions that changed a tracked table.';
comment on column history.transaction.id is
    'Number of the transaction, in the order in which transactions made their first change, which is not the order of commits.';
comment on column history.transaction.xid is 'PostgreSQL''s number for the transaction. Numbers repeat after a dump and restore.';
comment on column history.transaction.token is
    'Number of the transaction in commit order, with gaps. If a token is visible, all lower tokens are visible, too, also on a standby.';
comment on column history.transaction.author is
    'Who made the changes: the first 200 characters of the setting history.author, else application_name, else the login.';
comment on column history.transaction.context is 'The setting history.context: free text by which a writer finds its transactions.';
comment on column history.transaction.committed_at is 'When the transaction was committed; always later than the time of the previous token, even if the clock was set back.';
comment on column history.transaction.nonce is
    'A random text, drawn with the token. In a restored copy of the store, another transaction may get the same token, and even the same time, but not the same nonce.';
comment on column history.transaction.channels is 'Channels on which the commit announces the token, each once; null after that.';
comment on column history.transaction.changes is 'Number of the transaction''s changes, which is also the ordinal of its last change.';

create table history.change (
    transaction bigint not null,
    ordinal bigint not null,
    entity text not null,
    key text collate "C" not null,
    operation text not null,
    reason text,
    before jsonb,
    primary key (transaction, ordinal)
);
comment on table history.change is 'Changes of rows of tracked tables, one row for each change.';
comment on column history.change.transaction is 'The transaction that made the change.';
comment on column history.change.ordinal is 'Position within the transaction.';
comment on column history.change.entity is 'Name of the tracked table, with its schema if that is not public.';
comment on column history.change.key is 'Key of the changed row.';
comment on column history.change.operation is 'insert, update or delete.';
comment on column history.change.reason is 'Why: the setting history.reason at the time of the change.';
comment on column history.change.before is
    'The overwritten values: null for an insert, the old values of the changed columns for an update, the whole row for a delete.';

-- This index includes inserts, so a load has to maintain a second index. Without inserts in the index, reading the history of one
-- event would scan the whole table. The index is on the key alone, so it stores equal keys once. New events have adjacent codes,
-- so few of its pages change.
create index change_key on history.change (key);
comment on index history.change_key is 'All changes of a key, which are the history of a row.';
-- Deletions are rare. Without this index, a search for deletions would also read all updates.
create index change_deletion on history.change (transaction) where operation = 'delete';
comment on index history.change_deletion is 'Deletions, in the order of their transactions.';

create table history.reader (
    name text collate "C" primary key,
    login text not null,
    token bigint not null check (token >= 0),
    seen_at timestamptz not null default now()
);
comment on table history.reader is 'Named readers, and the token up to which each reader has applied the changes.';
comment on column history.reader.name is 'The name the reader gave itself.';
comment on column history.reader.login is 'The login that first reported under this name. Only this login and members of the role that owns history.report() may report under it, or any login if this one no longer exists.';
comment on column history.reader.token is 'The reader has applied all changes up to this token.';
comment on column history.reader.seen_at is 'When the reader last reported.';

create table history.citation (
    name text collate "C" primary key,
    token bigint not null check (token >= 0),
    reason text not null,
    author text not null default session_user,
    cited_at timestamptz not null default now()
);
comment on table history.citation is
    'Moments of the past that are cited. Pruning keeps all changes after the oldest cited moment.';
comment on column history.citation.name is 'Name of the citation, such as the name of a paper.';
comment on column history.citation.token is 'The newest token at the cited moment.';
comment on column history.citation.reason is 'Why the moment is kept.';
comment on column history.citation.author is 'The login that made the citation.';
comment on column history.citation.cited_at is 'When the citation was made.';

-- Recording.

-- The changes of a statement are known only when the statement ends. By then, changes that belong after them may already be
-- recorded: a row trigger of the table's owner may run statements, and these end before the statement that fired the trigger. So
-- each statement notes its place when it begins (history.begin_statement). When the statement's changes are recorded
-- (history.record), the changes that were recorded in the meantime move behind them, unless the states of a row show another
-- order (history.places).
--
-- The setting history.transaction is the transaction's memory. A rollback to a savepoint restores the setting, too. The setting
-- holds
--   - the id of the transaction's row in history.transaction, that row's position (its ctid), and the number of changes so far;
--   - for each statement that has begun, the innermost last: the table, the operation (I, U or D), and two places. A place is a
--     number of changes. Both places start as the number of changes at the statement's beginning. The statement's changes belong
--     at the first place, which increases when the changes of an outer statement are recorded in front of it. Changes after the
--     second place may have to be reordered. When an outer statement is recorded, the second place becomes the lower of itself
--     and the outer statement's place.
-- Any login can set this setting to any value. So the setting decides only the order of the transaction's own changes, and
-- otherwise just saves time. The row at the setting's position is used only if it belongs to this transaction. Everything else
-- that matters is read from that row. The row is read by its position, because an index look-up, or a scan of a small table,
-- would make concurrent SERIALIZABLE transactions fail. If the setting does not lead to such a row, the changes are first
-- recorded under a new id. The unique index on open transactions then shows whether the transaction already has a row. A
-- transaction that has already drawn its token is recognized by history.holder.
create function history.begin_statement() returns trigger
language plpgsql
as $$
declare
    -- Every name is qualified with its schema, which is faster than setting search_path for this function.
    memory pg_catalog.text := pg_catalog.current_setting('history.transaction', true);
    place pg_catalog.text;
begin
    if memory is null or memory operator(pg_catalog.=) '' then memory := '0 (0,0) 0'; end if;
    place := pg_catalog.split_part(memory, ' ', 3);
    memory := pg_catalog.set_config(
        'history.transaction',
        pg_catalog.format('%s %s%s:%s:%s', memory, tg_relid, pg_catalog.left(tg_op, 1), place, place), true);
    return null;
end
$$;
comment on function history.begin_statement() is 'Trigger: notes how many changes the transaction had recorded when a statement began.';

-- The state is null if the row does not exist. The `before` of an update holds the overwritten values, or an array of the
-- overwritten and the new values.
create function history.can_lead_to(state jsonb, change history.change) returns boolean
language sql immutable
return case change.operation
           when 'insert' then state is not null
           when 'delete' then state is null
           else state is not null and case jsonb_typeof(change.before)
               when 'array' then state || (change.before -> 1) = state
               else not exists (select from jsonb_each(change.before) as old where state -> old.key = old.value)
           end
       end;
comment on function history.can_lead_to(jsonb, history.change) is 'Whether a change can leave a row in the given state.';

-- Computes where a statement's changes of a row belong among the other changes of that row. The result has, for each of the
-- statement's changes, the ordinal of the change that it follows. The changes belong at the statement's place, unless the states
-- of the row contradict that. For example, a trigger may have deleted a row so that a new one could be inserted, or a foreign
-- key's action may run after a trigger has changed the row. So this function undoes all changes one by one, beginning with the
-- last, as a reader of the history would. If two changes could be undone next, the first attempt undoes the change that was
-- recorded while the statement ran, and the second attempt undoes the statement's own change. If both attempts fail, an outer
-- statement has changed the row and is not recorded yet. Then the result is null, and the changes stay at the statement's place.
create function history.places(present jsonb, own history.change[], others history.change[], place bigint) returns bigint[]
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    state jsonb;
    places bigint[];
    mine integer;
    other integer;
    is_mine boolean;
    is_other boolean;
begin
    for attempt in 1 .. 2 loop
        state := present;
        places := '{}';
        mine := cardinality(own);
        other := cardinality(others);
        while mine + other > 0 loop
            is_mine := mine > 0 and history.can_lead_to(state, own[mine]);
            is_other := other > 0 and history.can_lead_to(state, others[other]);
            exit when not is_mine and not is_other;
            if is_mine and not (is_other and attempt = 1 and (others[other]).ordinal > place) then
                places := case when (others[other + 1]).ordinal <= place then (others[other + 1]).ordinal - 1
                               else greatest(place, (others[other]).ordinal) end || places;
                state := case (own[mine]).operation when 'delete' then (own[mine]).before
                                                    when 'update' then state || ((own[mine]).before -> 0) end;
                mine := mine - 1;
            else
                state := case (others[other]).operation when 'delete' then (others[other]).before
                                                        when 'update' then state || (others[other]).before end;
                other := other - 1;
            end if;
        end loop;
        if mine + other = 0 then return places; end if;
    end loop;
    return null;
end
$$;
comment on function history.places(jsonb, history.change[], history.change[], bigint) is
    'For each change that a statement made to a row, the ordinal of the change that it belongs after; null if no order leads to the row''s present state.';

-- When this function is called, the statement's changes are the last changes that the transaction has recorded, and the `before`
-- of its updates is still an array of the old and the new values.
create function history.put_in_order(
    of_transaction bigint, of_entity text, relation regclass, key name, recorded_before bigint, place bigint, earliest bigint)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    -- The changes that do not belong at the statement's place, and the ordinal of the change that each of them follows.
    misplaced bigint[];
    targets bigint[];
    first bigint;
begin
    execute format(
        'select array_agg(put.ordinal), array_agg(put.target)
         from (select history.places((select to_jsonb(t.*) from only %1$s as t
                                      where t.%2$I = c.key collate %3$s and t.%2$I collate "C" = c.key),
                                     array_agg(c order by c.ordinal) filter (where c.ordinal > $3),
                                     array_agg(c order by c.ordinal) filter (where c.ordinal <= $3), $5) as places,
                      array_agg(c.ordinal order by c.ordinal) filter (where c.ordinal > $3) as ordinals
               from history.change c
               where c.transaction = $1 and c.ordinal > $2 and c.entity = $4
               group by c.key
               having bool_or(c.ordinal > $3) and bool_or(c.ordinal <= $3)) as row
         cross join lateral unnest(row.ordinals, row.places) as put (ordinal, target)
         where put.target <> $5',
        relation, key, (select t.collation from history.tracked t where t.relation = put_in_order.relation))
    into misplaced, targets using of_transaction, earliest, recorded_before, of_entity, place;
    first := least(place, (select min(t) from unnest(targets) as t));
    with moved as (
        delete from history.change c where c.transaction = of_transaction and c.ordinal > first
        returning c.*, c.ordinal > recorded_before as is_own)
    insert into history.change (transaction, ordinal, entity, key, operation, reason, before)
    select m.transaction,
           first + row_number() over (order by coalesce(put.target, case when m.is_own then place else m.ordinal end),
                                               m.is_own, m.ordinal),
           m.entity, m.key, m.operation, m.reason,
           case when m.is_own and m.operation = 'update' then m.before -> 0 else m.before end
    from moved m left join unnest(misplaced, targets) as put (ordinal, target) on put.ordinal = m.ordinal;
end
$$;
comment on function history.put_in_order(bigint, text, regclass, name, bigint, bigint, bigint) is
    'Moves a statement''s changes to their places among the changes that were recorded while the statement ran.';

-- This function is in SQL and returns a set, so that the planner inlines it.
create function history.difference(old jsonb, new jsonb, with_new boolean) returns setof jsonb
language sql immutable
begin atomic
    select case when with_new then jsonb_build_array(coalesce(jsonb_object_agg(o.key, o.value), '{}'),
                                                     coalesce(jsonb_object_agg(o.key, new -> o.key), '{}'))
           else coalesce(jsonb_object_agg(o.key, o.value), '{}') end
    from jsonb_each(old) as o
    where new -> o.key is distinct from o.value;
end;
comment on function history.difference(jsonb, jsonb, boolean) is
    'The values that an update overwrote; if with_new is true, an array of the overwritten and the new values.';

create function history.record() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
set enable_hashjoin = on
set enable_seqscan = off
set jit = off
as $$
declare
    entity constant text := tg_argv[0];
    channel constant text := tg_argv[1];
    reason constant text := nullif(current_setting('history.reason', true), '');
    setting text := current_setting('history.transaction', true);
    -- Two simple patterns check the format: one pattern with captures and counts would cost a hundred times as much.
    memory constant text[] := case
        when setting ~ '^[0-9]+ [(][0-9]+,[0-9]+[)] [0-9]+( [0-9]+[IUD]:[0-9]+:[0-9]+)*$'
             and setting !~ '[0-9]{19}|[0-9]{10},|,[0-9]{5}' then string_to_array(setting, ' ') end;
    -- The statements that have begun, and the index of this statement in that list; 0 if the setting was lost.
    statements text[] := memory[4:];
    depth integer := coalesce(cardinality(statements), 0);
    place bigint;
    earliest bigint;
    key name;
    -- Most statements change one row. Such a change is recorded with cached plans. For several rows, the recording statement is
    -- planned for the number of rows.
    rows bigint;
    old_row jsonb;
    new_row jsonb;
    statement text;
    may_be_refused boolean;
    is_known boolean;
    own record;
    kept record;
    -- The number of changes recorded before those of this statement, and whether any of them were recorded after the statement
    -- began.
    earlier bigint;
    is_late boolean;
    recorded bigint := 0;
begin
    while depth > 0 and not starts_with(statements[depth], tg_relid::oid || left(tg_op, 1) || ':') loop
        depth := depth - 1;
    end loop;
    if depth > 0 then
        place := split_part(statements[depth], ':', 2);
        earliest := split_part(statements[depth], ':', 3);
        statements := statements[:depth - 1] || statements[depth + 1:];
    end if;

    if tg_op = 'DELETE' then
        select count(*) into rows from (select from old_rows limit 2) as o;
    else
        select count(*) into rows from (select from new_rows limit 2) as n;
    end if;

    if rows > 0 then
        -- Finds the key as history.tracked does, but with fewer look-ups.
        select a.attname into key from pg_attribute a
        where a.attrelid = tg_relid
          and a.attnum = (select t.tgattr[0] from pg_trigger t where t.tgrelid = tg_relid and t.tgname = 'history_key')
          and (select pg_get_userbyid(c.relowner) from pg_class c where c.oid = tg_relid) = current_user;
        if not found then
            raise exception '% has the triggers of a tracked table, but is not tracked', tg_relid::regclass
                using errcode = 'object_not_in_prerequisite_state',
                      hint = 'It must belong to the owner of history.record(), and have the trigger history_key.';
        end if;
        select t.id, t.ctid as place, t.changes into own from history.transaction t
        where t.ctid = memory[2]::tid and t.id = memory[1]::bigint and t.xid = pg_current_xact_id() and t.token is null;
        if not found then
            -- The ages are compared, too, because transaction ids repeat after a dump and restore.
            select t.id, t.ctid as place, t.changes into own from history.transaction t
            where (select last_value from history.holder) = pg_current_xact_id()::text::bigint
              and t.token = (select last_value from history.token)
              and t.xid = pg_current_xact_id() and age(t.xmin) <= age(pg_current_xact_id()::xid);
        end if;
        is_known := found;
        -- If the row and the setting differ, a client has overwritten the setting. Then the running statements are unknown.
        if is_known and (own.id, own.changes) is distinct from (memory[1]::bigint, memory[3]::bigint) then
            depth := 0;
            statements := '{}';
            earliest := null;
        end if;
        if not is_known then
            select nextval('history.transaction_id_seq') as id, null::tid as place, 0::bigint as changes into own;
        end if;
        earlier := own.changes;
        is_late := coalesce(earliest < earlier, false);

        -- An update that leaves a row unchanged is not recorded. Rows are compared byte by byte (*<>), because jsonb treats 1.0
        -- and 1.00 as equal, while a reader of the table can tell them apart.
        if rows = 1 then
            case tg_op
                when 'INSERT' then select to_jsonb(n.*) into new_row from new_rows n;
                when 'DELETE' then select to_jsonb(o.*) into old_row from old_rows o;
                else select to_jsonb(o.*), to_jsonb(n.*) into old_row, new_row from old_rows o, new_rows n where o.* *<> n.*;
            end case;
        end if;
        if rows = 1 and (old_row is null or new_row is null or old_row -> key = new_row -> key) then
            insert into history.change (transaction, ordinal, entity, key, operation, reason, before)
            select own.id, earlier + 1, entity, coalesce(new_row, old_row) ->> key, lower(tg_op collate "C"), reason,
                   case tg_op when 'DELETE' then old_row
                              when 'UPDATE' then (select before from history.difference(old_row, new_row, is_late) as before) end
            where old_row is not null or new_row is not null;
        else
            -- An update of the key is recorded as a delete and an insert. `offset 0` keeps the planner from flattening the
            -- subquery, which would convert each row to jsonb once per column. Both transition tables have the rows in the order
            -- in which they were updated. A foreign key's actions may update one row several times, so old and new rows are
            -- matched by this order and not by key.
            --
            -- An insert needs no jsonb, but a row that jsonb cannot represent (a json text with \u0000) could then neither be read
            -- nor deleted. So if a column may have such values, the rows are converted, and the insert fails.
            may_be_refused := tg_op = 'INSERT' and exists (
                select from pg_attribute a join pg_type t on t.oid = a.atttypid
                where a.attrelid = tg_relid and a.attnum > 0
                  and (t.oid in ('json'::regtype, 'json[]'::regtype) or t.oid >= 16384 and t.typtype <> 'e'));
            statement := case tg_op
                when 'INSERT' then
                    'select %1$I as key, ''insert'' as operation, null::jsonb as before, row_number() over () as place
                     from new_rows'
                    || case when may_be_refused then ' where to_jsonb(new_rows.*) is not null' else '' end
                when 'DELETE' then
                    'select %1$I as key, ''delete'' as operation, to_jsonb(old_rows.*) as before, row_number() over () as place
                     from old_rows'
                else
                    'select change.key, change.operation, change.before,
                            row_number() over (order by pair.place, change.operation) as place
                     from (select o.place, o.key as old_key, n.key as new_key, o.key collate "C" <> n.key collate "C" as is_renamed,
                                  to_jsonb(o.value) as old, to_jsonb(n.value) as new
                           from (select row_number() over () as place, old_rows.%1$I as key, old_rows.*::record as value from old_rows) as o
                           join (select row_number() over () as place, new_rows.%1$I as key, new_rows.*::record as value from new_rows) as n
                             on n.place = o.place
                           where o.value *<> n.value
                           offset 0) as pair
                     cross join lateral (
                         select pair.old_key as key, ''update'' as operation, before
                         from history.difference(pair.old, pair.new, $5) as before where not pair.is_renamed
                         union all
                         select pair.old_key, ''delete'', pair.old where pair.is_renamed
                         union all
                         select pair.new_key, ''insert'', null where pair.is_renamed) as change'
            end;
            execute format(
                'insert into history.change (transaction, ordinal, entity, key, operation, reason, before)
                 select $1, $2 + c.place, $3, c.key, c.operation, $4, c.before from (' || statement || ') as c', key)
            using own.id, earlier, entity, reason, is_late;
        end if;
        get diagnostics recorded = row_count;
    end if;
    if recorded = 0 then
        if depth > 0 then
            setting := set_config('history.transaction', array_to_string(memory[:3] || statements, ' '), true);
        end if;
        return null;
    end if;

    if not is_known then
        insert into history.transaction as t (id, xid, author, context, channels, changes) overriding system value
        values (own.id, pg_current_xact_id(),
                left(coalesce(nullif(current_setting('history.author', true), ''),
                              nullif(current_setting('application_name'), ''), session_user), 200),  -- the column is indexed
                nullif(current_setting('history.context', true), ''), array[channel], recorded)
        on conflict (xid) where token is null do update set xid = excluded.xid
        returning t.id, t.ctid as place, t.changes into kept;
        if kept.id <> own.id then
            -- The transaction already had a row, so these changes belong to that row.
            update history.change c
            set transaction = kept.id, ordinal = kept.changes + c.ordinal
            where c.transaction = own.id;
            is_known := true;
            depth := 0;
            statements := '{}';
        end if;
        own := kept;
    end if;
    if is_known then
        update history.transaction t
        set changes = t.changes + recorded,
            channels = case when t.token is null and channel <> all (t.channels) then t.channels || channel else t.channels end
        where t.ctid = own.place and t.id = own.id
        returning t.id, t.ctid as place, t.changes, t.token into own;
        if own.token is not null then perform pg_notify(channel, own.token::text); end if;
    end if;

    if is_late then
        perform history.put_in_order(own.id, entity, tg_relid, key, earlier, least(place, earlier), earliest);
    end if;
    -- A statement that began after this one and still runs, such as a foreign key's action, keeps its place behind the changes of
    -- this one.
    if depth > 0 then
        for number in depth .. cardinality(statements) loop
            statements[number] := format('%s:%s:%s', split_part(statements[number], ':', 1),
                                         split_part(statements[number], ':', 2)::bigint + recorded,
                                         least(split_part(statements[number], ':', 3)::bigint, place));
        end loop;
    end if;
    setting := set_config('history.transaction',
                       array_to_string(array[own.id::text, own.place::text, own.changes::text] || statements, ' '), true);
    return null;
end
$$;
comment on function history.record() is 'Trigger: records the changes that one statement made.';

-- A deferred constraint trigger fires when the transaction commits, or earlier on SET CONSTRAINTS ALL IMMEDIATE. Changes that the
-- transaction makes afterwards, for example in other deferred triggers, are added to the row that already has the token. This is
-- safe, because no other session sees the row before the commit.
create function history.commit() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    setting constant text := current_setting('history.transaction', true);
    place tid := case when setting ~ '^[0-9]+ [(][0-9]+,[0-9]+[)] ' and setting !~ '[0-9]{10},|,[0-9]{5}'
                     then split_part(setting, ' ', 2) end;
    drawn record;
begin
    if not exists (select from history.transaction t where t.ctid = place and t.id = new.id) then
        -- The setting does not lead to this transaction's row.
        place := (select t.ctid from history.transaction t where t.id = new.id);
    end if;
    lock table history.commit_lock in exclusive mode;
    update history.transaction t
    set token = now.token, committed_at = timestamptz 'epoch' + now.clock * interval '1 microsecond',
        nonce = left(gen_random_uuid()::text, 8), channels = null
    from history.transaction own,
         (select nextval('history.token') as token, setval('history.holder', pg_current_xact_id()::text::bigint),
                 setval('history.clock', greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint, c.last_value + 1)) as clock
          from history.clock c offset 0) as now
    where own.ctid = place and t.ctid = own.ctid
    returning t.token, own.channels into drawn;
    -- The channels come from the row and not from a setting, so that a writer can't suppress the notification of a commit.
    perform pg_notify(channel, drawn.token::text) from unnest(drawn.channels) as channel;
    return null;
end
$$;
comment on function history.commit() is 'Trigger: gives a transaction its token and notifies its channels. The commit lock is held until the commit is visible, so that no token becomes visible before a lower one.';

create constraint trigger commit after insert on history.transaction
    deferrable initially deferred
    for each row execute function history.commit();

create function history.refuse_truncate() returns trigger
language plpgsql
as $$
begin
    raise exception 'TRUNCATE of the tracked table % is refused: it would leave no history', tg_table_name
        using errcode = 'feature_not_supported', hint = 'Use DELETE, which history records.';
end
$$;
comment on function history.refuse_truncate() is 'Trigger: refuses TRUNCATE, which would leave no history.';

-- This view finds a tracked table by a trigger that calls history.record(), on a table that belongs to that function's owner.
-- Only the owner can create such a trigger. A name alone proves nothing: any login may name a trigger history_key.
--
-- The key is the column that the trigger history_key names, so the column may be renamed.
create view history.tracked as
select convert_from(substring(t.tgargs from 1 for position(decode('00', 'hex') in t.tgargs) - 1), 'UTF8') as entity,
       t.tgrelid::regclass as relation, a.attname as key, a.attcollation::regcollation as collation
from pg_catalog.pg_trigger t
join pg_catalog.pg_class c on c.oid = t.tgrelid
join pg_catalog.pg_proc p on p.oid = t.tgfoid and p.proowner = c.relowner
join pg_catalog.pg_attribute a on a.attrelid = t.tgrelid and a.attnum = t.tgattr[0]
where t.tgname = 'history_key' and t.tgfoid = 'history.record()'::regprocedure;
comment on view history.tracked is 'The tracked tables.';
comment on column history.tracked.entity is 'The table''s name in the history: its name when history.track was called, with its schema if that is not public.';
comment on column history.tracked.relation is 'The table.';
comment on column history.tracked.key is 'The table''s key column.';
comment on column history.tracked.collation is
    'The collation of the key column, which its index uses. The history itself compares keys by their bytes.';

create function history.track(tracked regclass, key name, channel text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    owner constant regrole := (select p.proowner from pg_proc p where p.oid = 'history.record()'::regprocedure);
    called constant text := (select case n.nspname when 'public' then c.relname else n.nspname || '.' || c.relname end
                             from pg_class c join pg_namespace n on n.oid = c.relnamespace
                             where c.oid = tracked);
    arguments constant text := format('%L, %L', called, channel);
    foreign_type regtype;
begin
    if exists (select from history.tracked t where t.relation = tracked) then
        raise exception '% is already tracked', tracked using errcode = 'duplicate_object';
    end if;
    if (select relkind from pg_class where oid = tracked) <> 'r'
       or exists (select from pg_inherits where tracked in (inhrelid, inhparent)) then
        raise exception '% can''t be tracked: it must be a plain table, not a partitioned or inherited table or a view', tracked
            using errcode = 'feature_not_supported';
    end if;
    -- The owner of a table can do anything to it, so another owner could put anything into every reader's stream.
    if (select relowner from pg_class where oid = tracked) <> owner then
        raise exception '% can''t be tracked: it does not belong to %', tracked, owner
            using errcode = 'insufficient_privilege', hint = format('alter table %s owner to %s', tracked, owner);
    end if;
    -- The owner of a type could do so, too: a cast to json may replace how its values become jsonb.
    with recursive used (type) as (
        select a.atttypid from pg_attribute a where a.attrelid = tracked and a.attnum > 0
        union
        select part.type from used join pg_type t on t.oid = used.type
        cross join lateral (
            select unnest(array[t.typelem, t.typbasetype])
            union all
            select r.rngsubtype from pg_range r where t.oid in (r.rngtypid, r.rngmultitypid)
            union all
            select a.atttypid from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0) as part (type))
    select t.oid into foreign_type
    from used join pg_type t on t.oid = used.type join pg_roles r on r.oid = t.typowner
    where t.typowner <> owner and not r.rolsuper and (t.typcategory <> 'A' or t.typtype = 'd')
    limit 1;
    if found then
        raise exception '% can''t be tracked: its type % does not belong to %', tracked, foreign_type, owner
            using errcode = 'insufficient_privilege', hint = format('alter type %s owner to %s', foreign_type, owner);
    end if;
    if not (select has_schema_privilege(owner, c.relnamespace, 'usage') from pg_class c where c.oid = tracked) then
        raise exception '% can''t be tracked: % may not use its schema', tracked, owner
            using errcode = 'insufficient_privilege',
                  hint = (select format('grant usage on schema %s to %s', c.relnamespace::regnamespace, owner)
                          from pg_class c where c.oid = tracked);
    end if;
    if not exists (
        select from pg_attribute a
        join pg_index i on i.indrelid = a.attrelid and i.indisunique and i.indimmediate and i.indpred is null
             and i.indnkeyatts = 1 and i.indkey[0] = a.attnum
        where a.attrelid = tracked and a.attname = key and a.atttypid = 'text'::regtype and a.attnotnull) then
        raise exception '% can''t be tracked by %: the key must be a text column, not null, with its own unique index', tracked, key
            using errcode = 'invalid_table_definition';
    end if;
    -- A renamed table keeps its old name in the history.
    if exists (select from history.tracked t where t.entity = called and t.relation <> tracked) then
        raise exception '% can''t be tracked: another table is tracked as %', tracked, called
            using errcode = 'duplicate_object';
    end if;
    -- These are the limits of pg_notify. Without this check, the first write would fail instead.
    if channel is null or octet_length(channel) not between 1 and 63 then
        raise exception '% can''t be tracked: the channel''s name must have 1 to 63 bytes', tracked
            using errcode = 'invalid_parameter_value';
    end if;
    -- Reading, changing or deleting a row that jsonb cannot represent fails. The lock is that of the triggers below.
    execute format('lock table only %s in share row exclusive mode', tracked);
    execute format('select count(to_jsonb(t.*)) from only %s as t', tracked);
    execute format('create trigger history_begin before insert or update or delete on %s
                    for each statement execute function history.begin_statement()', tracked);
    execute format('create trigger history_insert after insert on %s referencing new table as new_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_update after update on %s referencing old table as old_rows new table as new_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_delete after delete on %s referencing old table as old_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_truncate before truncate on %s
                    for each statement execute function history.refuse_truncate()', tracked);
    -- This trigger never fires. It identifies the key column even after a rename, and keeps the column from being dropped.
    execute format('create trigger history_key before update of %I on %s
                    for each statement when (false) execute function history.record(%s)', key, tracked, arguments);
end
$$;
comment on function history.track(regclass, name, text) is
    'Begins to record the changes of a table. The arguments are the table, its text key, and the channel on which each transaction that changes the table announces its token. The table must belong to the owner of the function history.record().';

-- A login that may execute a trigger function can attach it to its own table. With history.commit(), the login could give a
-- recorded transaction another token and time. history.record() also checks the owner of the table.
revoke execute on function history.record(), history.commit() from public;

-- Reading.
--
-- The cost of a pass must be proportional to what it reads, even if the planner's statistics are outdated. Readers often read
-- right after a load, when the statistics still describe the table before the load: a query that was planned for 10,000 keys once
-- hashed 300,000, and took minutes instead of a second. Many readers also run the same small pass many times a second. So most of
-- these functions are in PL/pgSQL, which caches plans. The functions history.check, history.shape, history.refuse_rewritten and
-- history.changed_keys are forced to use one plan for all arguments. Only history.changes plans its query at each call, because
-- the name of the table is part of the query. Functions that read the history avoid scans of whole tables (enable_seqscan = off).
-- In their queries, `offset 0` keeps the planner from flattening the subqueries, so the tables are joined in the written order.

create aggregate history.overwritten(jsonb) (sfunc = jsonb_concat, stype = jsonb, initcond = '{}');
comment on aggregate history.overwritten(jsonb) is
    'The values that several changes of a row overwrote, merged from the newest change back: history.overwritten(before order by token desc, ordinal desc). Merged over the row as these changes left it (to_jsonb(row) || …), the result gives the row before them.';

-- Every query of the changes uses one of the next two functions. These have no SET clauses, so that the planner inlines them into
-- the query that calls them.
create function history.since(after bigint, of_entity text, up_to bigint default null)
returns table (token bigint, committed_at timestamptz, author text, context text, ordinal bigint, key text,
               operation text, reason text, before jsonb)
language sql stable
begin atomic
    select t.token, t.committed_at, t.author, t.context, c.ordinal, c.key, c.operation, c.reason, c.before
    from (select * from history.transaction t
          where t.token > after and t.token <= coalesce(up_to, 9223372036854775807) offset 0) as t
    cross join lateral (select * from history.change c where c.transaction = t.id and c.entity = of_entity offset 0) as c;
end;
comment on function history.since(bigint, text, bigint) is
    'The changes of a table after a token, in no particular order. If up_to is given, only the changes up to that token.';

create function history.of_key(of_entity text, of_key text, after bigint default 0)
returns table (token bigint, committed_at timestamptz, author text, context text, ordinal bigint, key text,
               operation text, reason text, before jsonb, later jsonb)
language sql stable
begin atomic
    select t.token, t.committed_at, t.author, t.context, c.ordinal, c.key, c.operation, c.reason, c.before,
           history.overwritten(c.before) over (order by t.token desc, c.ordinal desc
                                               rows between unbounded preceding and 1 preceding)
    from (select * from history.change c where c.key = of_key and c.entity = of_entity offset 0) as c
    cross join lateral (select * from history.transaction t where t.id = c.transaction and t.token > after offset 0) as t;
end;
comment on function history.of_key(text, text, bigint) is
    'The changes of one row after a token, in no particular order. The column "later" has the values that subsequent changes of the row overwrote. Merged over the present row (coalesce(to_jsonb(row), ''{}'') || later), it gives the row as the change left it.';

create function history.current_token() returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce((select max(token) from history.transaction), (select pruned_token from history.store))
$$;
comment on function history.current_token() is 'The highest token; if all history was pruned, the highest pruned token.';

create function history.position(out store uuid, out token bigint, out committed_at timestamptz, out nonce text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    select s.store, coalesce(t.token, s.pruned_token), coalesce(t.committed_at, s.pruned_committed_at),
           coalesce(t.nonce, s.pruned_nonce)
    into store, token, committed_at, nonce
    from history.store s
    left join lateral (
        select n.token, n.committed_at, n.nonce from history.transaction n
        where n.token is not null order by n.token desc limit 1
    ) as t on true;
end
$$;
comment on function history.position() is
    'The position that a reader keeps. Read the position in the same snapshot as the rows, and keep all four columns: history.check tells later whether the position still holds.';

create function history.check(store uuid, token bigint, committed_at timestamptz, nonce text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
    return case
        when s.store is distinct from $1 then 'diverged'
        when exists (select from history.transaction t where t.token = $2 and t.committed_at = $3 and t.nonce = $4) then 'ok'
        when s.pruned_token = $2 and s.pruned_committed_at = $3 and s.pruned_nonce = $4 then 'ok'
        when $2 < s.pruned_token then 'expired'
        else 'diverged'
    end
    from history.store s;
end
$$;
comment on function history.check(uuid, bigint, timestamptz, text) is
    'Whether a position still holds: ok; expired, if history after it was pruned; diverged, if it is not in this store''s past (after a restore or a failover). Unless the result is ok, the reader must take a fresh snapshot.';

-- An ALTER that changes rows is not recorded. It may also rewrite the table while a reader is reading, and a snapshot from before
-- the rewrite then sees an empty table (https://www.postgresql.org/docs/current/mvcc-caveats.html). The next two functions
-- protect readers from both problems.
--
-- An ALTER that rewrites the rows gives the table another TOAST table. VACUUM FULL and CLUSTER change no row, and keep the TOAST
-- table (https://www.postgresql.org/docs/current/storage-toast.html). Every other change that an ALTER makes to rows also changes
-- the columns: their number, names or types, the expressions of virtual columns, or the labels of enums. Every HTTP response
-- needs the shape, so computing it must be cheap. Therefore it consists of sums, which need no sorting.
create function history.shape(tracked regclass) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
    shape text;
    types oid[];
begin
    -- Everyone who may read the history can see every row in it, so a policy would hide nothing. And a reader that keeps rows
    -- could not tell a hidden row from a deleted one.
    if row_security_active(tracked) then
        raise exception 'row security hides rows of % from %, but the history shows all rows', tracked, current_user
            using errcode = 'insufficient_privilege',
                  hint = 'A reader must see all rows of a tracked table: alter role … bypassrls.';
    end if;
    select concat_ws('-', count(*),
                     sum(hashtextextended((a.atttypid || ' ' || a.attname) collate "C", a.attnum) >> 8),
                     sum(case when a.attgenerated = 'v' then (select d.oid::bigint from pg_attrdef d
                                                              where d.adrelid = a.attrelid and d.adnum = a.attnum) end),
                     (select c.reltoastrelid from pg_class c where c.oid = tracked)),
           array_agg(a.atttypid) filter (where a.atttypid >= 16384)
    into shape, types
    from pg_attribute a where a.attrelid = tracked and a.attnum > 0;
    -- User-defined types: enums, and arrays and domains of enums, also of each other.
    if types is not null then
        with recursive used (type) as (
            select unnest(types)
            union
            select unnest(array[t.typelem, t.typbasetype]) from used join pg_type t on t.oid = used.type)
        select concat_ws('-', shape, sum(hashtextextended(e.enumlabel::text collate "C", e.oid::bigint) >> 8)) into shape
        from used join pg_enum e on e.enumtypid = used.type;
    end if;
    return shape;
end
$$;
comment on function history.shape(regclass) is
    'A text that changes whenever rows of the table may have changed without a record in its history: by an ALTER of the table, or of an enum that one of its columns uses. A reader that keeps rows keeps this text beside its position, and takes a fresh snapshot if the text differs.';

create function history.refuse_rewritten(tracked regclass) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
    -- pg_relation_filenode() returns the table's current file; pg_class has the file that the snapshot sees.
    if pg_relation_filenode(tracked) is distinct from (select c.relfilenode from pg_class c where c.oid = tracked) then
        raise exception 'the table % was rewritten after this snapshot was taken, so the snapshot sees none of its rows', tracked
            using errcode = 'serialization_failure',
            hint = 'Read again in a new transaction. If it begins with LOCK TABLE … IN ACCESS SHARE MODE, it waits for a rewrite to end.';
    end if;
end
$$;
comment on function history.refuse_rewritten(regclass) is
    'Fails with a serialization failure if a table was rewritten since the snapshot was taken, because the snapshot sees that table as empty. The table may still be rewritten later, unless the transaction has locked it.';

-- The settings that affect how values look as text are fixed, because `before` was recorded under the same settings. The function
-- fails if a policy hides rows, because a hidden row would look deleted.
create function history.changes(after bigint, of_entity text, up_to bigint default null)
returns table (token bigint, committed_at timestamptz, author text, context text, ordinal bigint, key text,
               operation text, reason text, before jsonb, "row" jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
set row_security = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
    tracked record;
begin
    select t.relation, t.key, t.collation into tracked from history.tracked t where t.entity = of_entity;
    if not found then
        raise exception '% is not tracked', of_entity using errcode = 'undefined_object',
            hint = format('The tracked tables are: %s.', (select string_agg(t.entity, ', ' order by t.entity) from history.tracked t));
    end if;
    execute format('select from only %s limit 0', tracked.relation);  -- locks the table until the transaction ends
    perform history.refuse_rewritten(tracked.relation);
    return query execute format(
        'select c.token, c.committed_at, c.author, c.context, c.ordinal, c.key, c.operation, c.reason, c.before,
                to_jsonb(q.*)
         from (select s.*, lead(s.ordinal) over (partition by s.key collate "C" order by s.token, s.ordinal) is null as is_last
               from history.since($1, $2, $3) as s) as c
         left join lateral (
             select * from only %1$s as t
             where c.is_last and t.%2$I = c.key collate %3$s and t.%2$I collate "C" = c.key offset 0) as q on true
         order by c.token, c.ordinal',
        tracked.relation, tracked.key, tracked.collation)
    using after, of_entity, up_to;
end
$$;
comment on function history.changes(bigint, text, bigint) is
    'Every change of a table after a token, in token order. If up_to is given, only the changes up to that token; the cost is then proportional to the history between the two tokens. For each key, the last of these changes also has the row as this snapshot sees it; null if the row does not exist. Call it in a REPEATABLE READ transaction together with history.check and history.position.';

create function history.changed_keys(after bigint, of_entity text) returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashagg = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
    -- The caller's query joins the table to the keys, so the table is locked already.
    perform history.refuse_rewritten(t.relation) from history.tracked t where t.entity = of_entity;
    if not found then
        raise exception '% is not tracked', of_entity using errcode = 'undefined_object';
    end if;
    return query
    select distinct s.key collate "C" from history.since(after, of_entity) as s;
end
$$;
comment on function history.changed_keys(bigint, text) is
    'The keys of the rows of a table that changed after a token, each once, for readers that keep rows but no history. Call it like history.changes: in a REPEATABLE READ transaction together with history.check and history.position.';

-- Runs with its owner's rights, so that a reader can report its position and change nothing else. Reports keep history from being
-- pruned, and operators watch them. So a login may not report for another login's reader, and may add at most 1000 names. If a
-- login no longer exists, for example after a restore on another server, any login may continue its readers. A session that has
-- reported and keeps its transaction open locks the name. Other reports under that name then fail after 100 ms.
create function history.report(reader text, reached bigint) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
as $$
begin
    if not exists (select from history.reader r where r.name = reader) then
        if octet_length(reader) not between 1 and 200 then
            raise exception 'the reader''s name must have 1 to 200 bytes'
                using errcode = 'object_not_in_prerequisite_state';
        end if;
        if (select count(*) from history.reader r where r.login = session_user) >= 1000 then
            raise exception 'the login % has 1000 readers already; delete unused ones from history.reader', session_user
                using errcode = 'object_not_in_prerequisite_state';
        end if;
    end if;
    insert into history.reader as r (name, login, token, seen_at) values (reader, session_user, reached, now())
    on conflict (name) do update
    set token = excluded.token, seen_at = excluded.seen_at,
        login = case when exists (select from pg_roles known where known.rolname = r.login) then r.login else excluded.login end
    where r.login = session_user or pg_has_role(session_user, current_user, 'member')
       or not exists (select from pg_roles known where known.rolname = r.login);
    if not found then
        raise exception 'the reader % belongs to another login; choose another name, or have its row deleted from history.reader', reader
            using errcode = 'object_not_in_prerequisite_state';
    end if;
end
$$;
comment on function history.report(text, bigint) is
    'Reports that a named reader has applied all changes up to a token. For the next 24 hours history.prune keeps the changes after that token, unless they are older than its keep_at_most. A name belongs to the login that first reported under it, until that login is dropped; a login may have 1000 names.';

-- A transaction's age is usually counted from its committed_at. But if the server's clock was ahead at the commit and has been
-- corrected since, its committed_at lies in the future. So does the committed_at of every later transaction, because these times
-- never decrease. The first pruning that finds such a time records the newest token and the present time. From then on, each
-- transaction up to that token whose committed_at is still in the future counts as committed at the recorded time. Once all
-- transactions up to that token are pruned, another token may be recorded.
--
-- The cost of a step is proportional to what it deletes, however long the history is, and even if the planner's statistics are
-- outdated. A join of the two tables might be planned as a scan of a whole table, so the function uses a list of ids.
create function history.prune(
    keep interval, keep_at_most interval default null, at_most integer default 1000, enough bigint default 100000,
    out transactions bigint, out changes bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    store history.store := (select s from history.store s for update);
    newest record;
    present timestamptz;
    needed bigint;
    cited bigint := (select min(c.token) from history.citation c);
    last record;
begin
    if keep < interval '0' or keep_at_most < keep then
        raise exception 'prune needs 0 <= keep <= keep_at_most' using errcode = 'invalid_parameter_value';
    end if;
    select t.token, t.committed_at into newest
    from history.transaction t where t.token is not null order by t.token desc limit 1;
    -- The clock is read after the newest token, so that the token's time lies in the future only if the clock was ahead.
    present := clock_timestamp();
    if newest.committed_at > present and coalesce(store.seen_token <= store.pruned_token, true) then
        update history.store s set seen_token = newest.token, seen_at = present returning s.* into store;
    end if;
    -- A report dated more than 24 hours in the future does not count: the clock was ahead when it was made. A reader whose next
    -- changes are already pruned needs none, because it will take a fresh snapshot.
    needed := (select min(r.token) from history.reader r
               where r.seen_at between present - interval '24 hours' and present + interval '24 hours'
                 and r.token >= store.pruned_token);
    -- Only an unbroken run of the oldest transactions may be deleted, so that the remaining history begins at one token.
    select array_agg(t.id) as ids, max(t.token) as token into last
    from (select o.id, o.token, o.committed_at,
                 bool_and(o.known_at <= present - keep
                          and (cited is null or o.token <= cited)
                          and (needed is null or o.token <= needed
                               or coalesce(o.known_at <= present - keep_at_most, false)))
                     over in_order
                 and sum(o.changes) over in_order - o.changes < enough as may_go
          from (select n.id, n.token, n.committed_at, n.changes,
                       case when n.committed_at > present and n.token <= store.seen_token then store.seen_at
                            else n.committed_at end as known_at
                from history.transaction n
                where n.token > store.pruned_token order by n.token limit at_most) as o
          window in_order as (order by o.token)) as t
    where t.may_go;
    transactions := 0;
    changes := 0;
    if last.ids is null then return; end if;
    -- pruned_token moves in the same transaction as the deletions, so that a reader that still needs the deleted changes learns
    -- that its position has expired.
    update history.store
    set (pruned_token, pruned_committed_at, pruned_nonce) = (
        select t.token, t.committed_at, t.nonce from history.transaction t where t.token = last.token);
    delete from history.change c where c.transaction = any (last.ids);
    get diagnostics changes = row_count;
    delete from history.transaction t where t.id = any (last.ids);
    get diagnostics transactions = row_count;
end
$$;
comment on function history.prune(interval, interval, integer, bigint) is
    'Deletes the oldest history: transactions that were committed longer ago than keep, except those that a reader seen in the last 24 hours still needs. Transactions after the oldest moment in history.citation always stay. If keep_at_most is given, no other transaction stays longer than that. The parameter at_most limits the number of transactions that one call deletes. The call also stops once it has deleted at least as many changes as the parameter enough says; a transaction is never divided. If a clock that was ahead gave a transaction a time in the future, the time of the first pruning that found this counts instead. Call it again until it returns 0 transactions.';
