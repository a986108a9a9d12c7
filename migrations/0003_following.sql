-- What readers that follow need: a pass whose text is the same for every session, a place to say how far they are, and
-- the removal of history that nobody needs any more.

-- As in 0002, but found by the name under which it is tracked, and with the settings that shape the text of values
-- pinned: `before` was kept under the same ones.
create or replace function history.changes(after bigint, of_entity text)
returns table (token bigint, committed_at timestamptz, author text, context text, ordinal bigint, key text,
               operation text, reason text, before jsonb, "row" jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO, YMD'
set intervalstyle = 'postgres'
set extra_float_digits = 1
set bytea_output = 'hex'
as $$
declare
    tracked record;
begin
    select t.tgrelid::regclass as "table", arguments[2] as key into tracked
    from pg_trigger t,
         lateral (select string_to_array(encode(t.tgargs, 'escape'), '\000') as arguments) as a
    where t.tgname = 'history_insert' and arguments[1] = encode(convert_to(of_entity, 'UTF8'), 'escape');
    if not found then
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
         order by c.token, c.ordinal',
        tracked."table", convert_from(decode(tracked.key, 'escape'), 'UTF8'))
    using after, of_entity;
end
$$;

-- As in 0002, but each row becomes jsonb once: without `offset 0` the planner takes the subquery apart and converts the
-- new row again for each of its columns.
create or replace function history.record() returns trigger
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
                   from old_rows o full join new_rows n on o.%1$I = n.%1$I
                   offset 0) as pair
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

create function history.report(reader text, reached bigint) returns void
language sql
set search_path = pg_catalog, pg_temp
as $$
    insert into history.reader as r (name, token, seen_at) values (reader, reached, now())
    on conflict (name) do update set token = excluded.token, seen_at = excluded.seen_at
$$;
comment on function history.report(text, bigint) is
    'A named reader says up to which token it has applied the changes. For 24 hours history.prune keeps what comes after that.';

create function history.prune(
    keep interval, keep_at_most interval default null, at_most integer default 1000,
    out transactions bigint, out changes bigint)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    store constant history.store := (select s from history.store s for update);
    needed constant bigint := (select min(r.token) from history.reader r where r.seen_at > now() - interval '24 hours');
    last record;
begin
    if keep < interval '0' or keep_at_most < keep then
        raise exception 'prune needs 0 <= keep <= keep_at_most' using errcode = 'invalid_parameter_value';
    end if;
    -- The oldest ones, as far as all of them may go: what stays begins at one token.
    select t.token, t.committed_at into last
    from (select o.token, o.committed_at,
                 bool_and(o.committed_at <= now() - keep
                          and (needed is null or o.token <= needed
                               or coalesce(o.committed_at <= now() - keep_at_most, false)))
                     over (order by o.token) as may_go
          from (select n.token, n.committed_at from history.transaction n
                where n.token > store.pruned_token order by n.token limit at_most) as o) as t
    where t.may_go
    order by t.token desc limit 1;
    transactions := 0;
    changes := 0;
    if not found then return; end if;
    -- First of all the horizon, as one snapshot with the deletions: a reader that needs what went is told so.
    update history.store set pruned_token = last.token, pruned_committed_at = last.committed_at;
    delete from history.change c using history.transaction t where t.token <= last.token and c.transaction = t.id;
    get diagnostics changes = row_count;
    delete from history.transaction t where t.token <= last.token;
    get diagnostics transactions = row_count;
end
$$;
comment on function history.prune(interval, interval, integer) is
    'Removes the oldest history, at most that many transactions: what was committed longer ago than keep, except for what a reader seen in the last 24 hours still needs; but nothing stays longer than keep_at_most. Repeat it until it returns 0.';
