-- Writes docs/data-dictionary.md from the comments of a migrated database: psql -qAtX -f this.
\pset footer off
\echo '# Data dictionary'
\echo
\echo 'Made from the comments in the database by `make docs`: `\\d+ report.event` in psql says the same.'
\echo
\echo 'Views and functions of the schema `report` are a contract: columns keep their names, units and meaning, and new'
\echo 'ones come after the last. The tables, and a few views of other schemas, are described for those who may read them.'
\echo

with shape as (
    select c.oid, n.nspname as schema, c.relname as name, c.relkind as kind,
           case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as title,
           obj_description(c.oid, 'pg_class') as summary
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where (n.nspname in ('report', 'import', 'history', 'notify') or c.oid in (select relation from history.tracked))
      and c.relkind in ('v', 'r')),
columns as (
    select a.attrelid as oid,
           string_agg(format(E'| `%s` | %s | %s |', a.attname, format_type(coalesce(nullif(t.typbasetype, 0), a.atttypid), a.atttypmod),
                             replace(col_description(a.attrelid, a.attnum), '|', '\|')),
                      E'\n' order by a.attnum) as rows
    from pg_attribute a left join pg_type t on t.oid = a.atttypid
    where a.attnum > 0 and not a.attisdropped group by a.attrelid),
parameters as (
    select p.oid,
           string_agg(format('`%s` %s%s', u.name, format_type(p.proargtypes[u.place - 1], null),
                             case when u.place > p.pronargs - p.pronargdefaults then '' else ', required' end),
                      ', ' order by u.place) as list
    from pg_proc p, unnest(p.proargnames[1:p.pronargs]) with ordinality as u (name, place) group by p.oid),
entry as (
    select 1 as part, title, format(E'### %s\n\n%s\n', title, summary) || coalesce(
               format(E'\n| column | type | what |\n| --- | --- | --- |\n%s\n', columns.rows), '')
           || coalesce((select format(E'\nThe function `report.%s` takes %s. %s\n', name, parameters.list, obj_description(p.oid, 'pg_proc'))
                        from pg_proc p join parameters on parameters.oid = p.oid
                        where p.pronamespace = 'report'::regnamespace and p.proname = shape.name), '') as text
    from shape left join columns using (oid) where schema = 'report'
    union all
    select 2, p.proname, format(E'### report.%s()\n\n%s\n\nParameters: %s.\n\n| column | type | what |\n| --- | --- | --- |\n%s\n',
                                p.proname, obj_description(p.oid, 'pg_proc'), parameters.list, columns.rows)
    from pg_proc p join parameters on parameters.oid = p.oid join pg_type t on t.oid = p.prorettype
    join columns on columns.oid = t.typrelid
    where p.pronamespace = 'report'::regnamespace and p.proretset
    union all
    select 3, p.proname, format('- `report.%s(%s)` → %s: %s', p.proname, pg_get_function_identity_arguments(p.oid),
                                pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc'))
    from pg_proc p
    where p.pronamespace = 'report'::regnamespace and not p.proretset
      and obj_description(p.oid, 'pg_proc') not like 'Private:%'
    union all
    select 4, (title <> 'quake')::text || title, format(E'### %s\n\n%s\n', title, summary) || coalesce(
               format(E'\n| column | type | what |\n| --- | --- | --- |\n%s\n', columns.rows), '')
    from shape left join columns using (oid) where schema <> 'report')
select format(E'## %s\n\n%s%s', case part when 1 then 'Views' when 2 then 'Functions that give rows'
                                          when 3 then 'Functions of one value' else 'Tables of the other schemas' end,
              string_agg(text, E'\n' order by title collate "C"), case when part = 3 then E'\n' else '' end)
from entry group by part order by part;
