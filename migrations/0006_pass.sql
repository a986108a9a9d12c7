-- A pass costs as much as there is to read, whatever the planner believes.
--
-- Readers come right after a load, when the statistics still tell of the table before it: the planner then took a hash
-- table of 300,000 keys for one of 10,000, and needed minutes instead of a second. And many readers run the same small pass
-- many times a second: functions in PL/pgSQL keep their plans, which therefore have to be right for tables of any size.
-- Only indexes are allowed, and `offset 0` keeps the order of a nested loop.

create function history.changed_keys(after bigint, of_entity text) returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashagg = off
set jit = off
as $$
begin
    return query
    select distinct c.key collate "C"
    from (select n.id from history.transaction n where n.token > after offset 0) as t
    cross join lateral (select n.key from history.change n
                        where n.transaction = t.id and n.entity = of_entity offset 0) as c;
end
$$;
comment on function history.changed_keys(bigint, text) is
    'The keys that changed after a token, each once: what a reader needs that keeps rows, but no history. Call it as history.changes.';

-- Who may read the changes may read their keys.
do $$
declare
    reader regrole;
begin
    for reader in
        select a.grantee::regrole
        from pg_catalog.pg_proc p, pg_catalog.aclexplode(p.proacl) as a
        where p.oid = 'history.changes(bigint, text)'::regprocedure and a.grantee <> p.proowner and a.grantee <> 0
    loop
        execute format('grant execute on function history.changed_keys(bigint, text) to %s', reader);
    end loop;
end
$$;

-- As in 0003, but by way of the indexes alone.
alter function history.changes(bigint, text) set enable_seqscan = off;
alter function history.changes(bigint, text) set enable_hashjoin = off;
alter function history.changes(bigint, text) set enable_mergejoin = off;
alter function history.changes(bigint, text) set jit = off;

-- As in 0002, but in PL/pgSQL.
create or replace function history.position(out store uuid, out token bigint, out committed_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    select s.store, coalesce(t.token, s.pruned_token), coalesce(t.committed_at, s.pruned_committed_at)
    into store, token, committed_at
    from history.store s
    left join lateral (
        select n.token, n.committed_at from history.transaction n where n.token is not null order by n.token desc limit 1
    ) as t on true;
end
$$;

create or replace function history.check(store uuid, token bigint, committed_at timestamptz) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return case
        when s.store is distinct from $1 then 'diverged'
        when exists (select from history.transaction t where t.token = $2 and t.committed_at = $3) then 'ok'
        when s.pruned_token = $2 and s.pruned_committed_at = $3 then 'ok'
        when $2 < s.pruned_token then 'expired'
        else 'diverged'
    end
    from history.store s;
end
$$;
