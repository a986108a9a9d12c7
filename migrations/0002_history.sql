-- The history of any table with a text key: who changed what, in the order in which the changes became visible.

create schema history;
comment on schema history is
    'Persistent history: every change of the tracked tables, in commit order. Readers remember a token and ask for what came after it.';

create table history.store (
    store uuid primary key default gen_random_uuid(),
    pruned_token bigint not null default 0,
    pruned_committed_at timestamptz not null default now(),
    is_only boolean not null unique default true check (is_only)
);
comment on table history.store is 'One row: which store this is, and from where on its history is still there.';
comment on column history.store.store is 'Identity of the store; a reader''s token is worth nothing in another one.';
comment on column history.store.pruned_token is 'The highest token that was pruned; 0 at first.';
comment on column history.store.pruned_committed_at is 'When that token''s transaction was committed; at first, when the store was made.';
comment on column history.store.is_only is 'Keeps it at one row.';
insert into history.store default values;

create sequence history.token;
comment on sequence history.token is 'Draws the tokens, under the commit lock.';
-- The time of the last commit in microseconds since 1970, as a sequence: not part of any transaction, and no reason for
-- SERIALIZABLE transactions to fail each other.
create sequence history.clock minvalue 0 start 0;
comment on sequence history.clock is 'Time of the last tracked commit, in microseconds since 1970.';
-- Locked from the drawing of a token to the end of its commit. A table, because any login could hold an advisory lock.
create table history.commit_lock ();
comment on table history.commit_lock is 'Never holds a row; its lock puts tracked commits in order.';

create table history.transaction (
    id bigint generated always as identity primary key,
    xid xid8 not null,
    token bigint unique,
    author text not null,
    context text,
    committed_at timestamptz
);
comment on table history.transaction is 'Transactions that changed a tracked table.';
comment on column history.transaction.id is 'Number in the order of first changes; says nothing about the order of commits.';
comment on column history.transaction.xid is 'PostgreSQL''s number of the transaction; repeats after a dump and restore.';
comment on column history.transaction.token is 'Number in the order of commits, with gaps. At any moment, also on a standby, the visible tokens are a prefix of all.';
comment on column history.transaction.author is 'The setting history.author, else application_name, else the login.';
comment on column history.transaction.context is 'The setting history.context; the import worker gives its run.';
comment on column history.transaction.committed_at is 'When it was committed: never before the previous token.';

create table history.change (
    transaction bigint not null,
    ordinal bigint not null,
    entity text not null,
    key text not null,
    operation text not null,
    reason text,
    before jsonb,
    primary key (transaction, ordinal)
);
comment on table history.change is 'Changes of single rows.';
comment on column history.change.transaction is 'The transaction that made it.';
comment on column history.change.ordinal is 'Its place within the transaction.';
comment on column history.change.entity is 'The table, such as quake.';
comment on column history.change.key is 'The row''s key.';
comment on column history.change.operation is 'insert, update or delete.';
comment on column history.change.reason is 'The setting history.reason of the transaction, such as "superseded by CODE".';
comment on column history.change.before is 'What was overwritten: null for an insert, the old values of the changed columns for an update, the whole row for a delete.';

create table history.reader (
    name text primary key,
    token bigint not null,
    seen_at timestamptz not null default now()
);
comment on table history.reader is 'Named readers and how far they have come.';
comment on column history.reader.name is 'The name the reader gave itself.';
comment on column history.reader.token is 'The token up to which it has applied changes.';
comment on column history.reader.seen_at is 'When it last said so.';

-- Finds the running transaction's row, or makes it.
--
-- The setting history.transaction (id, xid, row position, changes so far) is only a hint that any login could forge: the
-- row it points to must be this transaction's own. It is read by its position, because a look-up by index would be a
-- reason for SERIALIZABLE transactions to fail each other.
create function history.own_transaction(out id bigint, out place tid, out changes bigint)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    hint text := current_setting('history.transaction', true);
    part text[];
begin
    if hint ~ '^\d{1,18} \d{1,20} \(\d{1,9},\d{1,4}\) \d{1,18}$' then
        part := string_to_array(hint, ' ');
        if part[2] = pg_current_xact_id()::text then
            select t.id, t.ctid, part[4]::bigint into id, place, changes
            from history.transaction t
            where t.ctid = part[3]::tid and t.id = part[1]::bigint
              and t.xid = pg_current_xact_id() and t.token is null;
            if found then
                return;
            end if;
        end if;
    end if;
    insert into history.transaction as t (xid, author, context)
    values (pg_current_xact_id(),
            coalesce(nullif(current_setting('history.author', true), ''),
                     nullif(current_setting('application_name'), ''), session_user),
            nullif(current_setting('history.context', true), ''))
    returning t.id, t.ctid into id, place;
    changes := 0;
end
$$;
comment on function history.own_transaction() is 'Private: the running transaction''s row in history.transaction.';

-- Records the rows of one statement. Settings that shape the text of values are pinned, so that no writer's session can
-- blur what is kept; those of the planner, so that none can make it slow.
create function history.record() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
set enable_hashjoin = on
as $$
declare
    entity constant text := tg_argv[0];
    key constant text := tg_argv[1];
    reason constant text := nullif(current_setting('history.reason', true), '');
    own record;
    recorded bigint;
begin
    if tg_op = 'INSERT' then
        if not exists (select from new_rows) then return null; end if;
        own := history.own_transaction();
        execute format(
            'insert into history.change (transaction, ordinal, entity, key, operation, reason)
             select $1, $2 + row_number() over (), $3, %I, ''insert'', $4 from new_rows', key)
        using own.id, own.changes, entity, reason;
    elsif tg_op = 'DELETE' then
        if not exists (select from old_rows) then return null; end if;
        own := history.own_transaction();
        execute format(
            'insert into history.change (transaction, ordinal, entity, key, operation, reason, before)
             select $1, $2 + row_number() over (), $3, %I, ''delete'', $4, to_jsonb(old_rows) from old_rows', key)
        using own.id, own.changes, entity, reason;
    else
        -- A new key is another row: what had the old one is gone. What changed nothing is no change.
        if not exists (select from old_rows) then return null; end if;
        own := history.own_transaction();
        execute format(
            'insert into history.change (transaction, ordinal, entity, key, operation, reason, before)
             select $1, $2 + row_number() over (), $3, pair.key,
                    case when pair.new is null then ''delete'' when pair.old is null then ''insert'' else ''update'' end,
                    $4,
                    case when pair.new is null then pair.old
                         when pair.old is null then null
                         else (select jsonb_object_agg(member.key, member.value)
                               from jsonb_each(pair.old) as member
                               where pair.new -> member.key is distinct from member.value)
                    end
             from (select coalesce(o.%1$I, n.%1$I) as key, to_jsonb(o) as old, to_jsonb(n) as new
                   from old_rows o full join new_rows n on o.%1$I = n.%1$I) as pair
             where pair.old is distinct from pair.new', key)
        using own.id, own.changes, entity, reason;
    end if;
    get diagnostics recorded = row_count;
    if recorded + own.changes = 0 then
        -- An update that changed nothing: there is no transaction to tell of. Its trigger will find no row.
        delete from history.transaction t where t.ctid = own.place and t.id = own.id;
        return null;
    end if;
    perform set_config(
        'history.transaction',
        format('%s %s %s %s', own.id, pg_current_xact_id(), own.place, own.changes + recorded), true);
    return null;
end
$$;
comment on function history.record() is 'Trigger: records the rows of one statement.';

-- Gives the transaction its token as it commits, and tells the readers. The lock is held until the commit is visible, so
-- that a later token never becomes visible before an earlier one.
create function history.commit() returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    place tid := substring(current_setting('history.transaction', true) from '^\d{1,18} \d{1,20} (\(\d{1,9},\d{1,4}\)) ')::tid;
    drawn bigint;
    clock bigint;
begin
    if not exists (select from history.transaction t where t.ctid = place and t.id = new.id) then
        -- Nothing was changed after all, or the hint is not ours.
        select t.ctid into place from history.transaction t where t.id = new.id;
        if not found then return null; end if;
    end if;
    lock table history.commit_lock in exclusive mode;
    drawn := nextval('history.token');
    clock := greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint,
                      (select last_value from history.clock));
    perform setval('history.clock', clock);
    update history.transaction t
    set token = drawn, committed_at = timestamptz 'epoch' + clock * interval '1 microsecond'
    where t.ctid = place;
    perform pg_notify('quake_changes', drawn::text);
    return null;
end
$$;
comment on function history.commit() is 'Trigger: draws the token at commit and notifies.';

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
comment on function history.refuse_truncate() is 'Trigger: TRUNCATE would leave no history.';

create function history.track(tracked regclass, key name) returns void
language plpgsql
as $$
declare
    entity constant text := (select case n.nspname when 'public' then c.relname else n.nspname || '.' || c.relname end
                             from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                             where c.oid = tracked);
    arguments constant text := format('%L, %L', entity, key);
begin
    if (select relkind from pg_catalog.pg_class where oid = tracked) <> 'r'
       or exists (select from pg_catalog.pg_inherits where tracked in (inhrelid, inhparent)) then
        raise exception '% can''t be tracked: it is no plain table (partitioned, inherited, a view …)', tracked
            using errcode = 'feature_not_supported';
    end if;
    if not exists (
        select from pg_catalog.pg_attribute a
        join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indisunique and i.indpred is null
             and i.indnkeyatts = 1 and i.indkey[0] = a.attnum
        where a.attrelid = tracked and a.attname = key and a.atttypid = 'text'::regtype and a.attnotnull) then
        raise exception '% can''t be tracked by %: a key is a text column, not null, with a unique index of its own', tracked, key
            using errcode = 'invalid_table_definition';
    end if;
    execute format('create trigger history_insert after insert on %s referencing new table as new_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_update after update on %s referencing old table as old_rows new table as new_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_delete after delete on %s referencing old table as old_rows
                    for each statement execute function history.record(%s)', tracked, arguments);
    execute format('create trigger history_truncate before truncate on %s
                    for each statement execute function history.refuse_truncate()', tracked);
end
$$;
comment on function history.track(regclass, name) is 'Puts a table with a text key under history, from now on.';

create function history.current_token() returns bigint
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce((select max(token) from history.transaction), (select pruned_token from history.store))
$$;
comment on function history.current_token() is 'The highest token, or else the pruned horizon.';

create function history.position(out store uuid, out token bigint, out committed_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select s.store, coalesce(t.token, s.pruned_token), coalesce(t.committed_at, s.pruned_committed_at)
    from history.store s
    left join lateral (
        select token, committed_at from history.transaction where token is not null order by token desc limit 1) as t on true
$$;
comment on function history.position() is
    'What a reader stores: all of it in one snapshot with the rows it has read. Later, history.check tells whether it still holds.';

create function history.check(store uuid, token bigint, committed_at timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when s.store is distinct from $1 then 'diverged'
        when exists (select from history.transaction t where t.token = $2 and t.committed_at = $3) then 'ok'
        when s.pruned_token = $2 and s.pruned_committed_at = $3 then 'ok'
        when $2 < s.pruned_token then 'expired'
        else 'diverged'
    end
    from history.store s
$$;
comment on function history.check(uuid, bigint, timestamptz) is
    'Whether a stored position still holds: ok; expired, when the history after it was pruned; diverged, when it is not of this store''s past (restored, failed over, from the future). On all but ok a reader takes a fresh snapshot.';

create function history.changes(after bigint, of_entity text)
returns table (token bigint, committed_at timestamptz, author text, context text, ordinal bigint, key text,
               operation text, reason text, before jsonb, "row" jsonb)
language plpgsql stable
as $$
declare
    key_column name := (
        select convert_from(decode(split_part(encode(t.tgargs, 'escape'), '\000', 2), 'escape'), 'UTF8')
        from pg_catalog.pg_trigger t
        where t.tgname = 'history_insert' and t.tgrelid = to_regclass(of_entity));
begin
    if key_column is null then
        raise exception '% is not tracked', of_entity using errcode = 'undefined_object';
    end if;
    return query execute format(
        'select c.token, c.committed_at, c.author, c.context, c.ordinal, c.key, c.operation, c.reason, c.before,
                to_jsonb(q)
         from (select t.token, t.committed_at, t.author, t.context, c.*,
                      lead(c.ordinal) over (partition by c.key order by t.token, c.ordinal) is null as is_last
               from history.transaction t join history.change c on c.transaction = t.id
               where t.token > $1 and c.entity = $2) as c
         left join %s as q on c.is_last and q.%I = c.key
         order by c.token, c.ordinal', to_regclass(of_entity), key_column)
    using after, of_entity;
end
$$;
comment on function history.changes(bigint, text) is
    'The pass: every change after a token in token order. The last change of a key carries the row as this snapshot has it, null when it is gone. Call it in a REPEATABLE READ transaction, together with history.check and history.position.';

select history.track('public.quake', 'code');
