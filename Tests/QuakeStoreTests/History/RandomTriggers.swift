import PostgreSQL
import TestSupport

/// Random triggers on three small tables that refer to each other, and random statements on these tables, at top level and
/// nested. The same seed makes the same triggers and statements.
extension TestDatabase {
    func runNestedStatements(seed: UInt64, transactions: Int) async throws {
        try await execute(Self.tables)
        try await execute(Self.programs)
        try await execute(Self.oracle)
        try await execute("call run(\(Double(seed % 100_003) / 100_003), \(transactions))")
    }

    /// Undoes the history change by change, starting from the present tables, and returns the contradictions: a change that can't
    /// have led to the state after it, or a state that differs from the copy taken at that token.
    func contradictions() async throws -> [String] {
        if try await query("select from pg_proc where proname = 'contradictions'").isEmpty {
            try await execute(Self.oracle)
        }
        return try await query("select text from contradictions() as text").map { try $0.decode("text") }
    }

    /// Two tracked tables and one that is not tracked. `past` keeps copies of the tracked ones.
    private static let tables = """
        create table note (key text primary key, number int, text text,
                           up text references note on update cascade on delete cascade);
        create table memo (key text primary key, number int, note text references note on update cascade on delete set null);
        create table plain (key text primary key, number int, note text references note on update cascade on delete cascade);
        select history.track('note', 'key', 'note_changes');
        select history.track('memo', 'key', 'memo_changes');
        create view present as
        select p.token, (select coalesce(jsonb_object_agg(key, to_jsonb(note.*)), '{}') from note) as notes,
               (select coalesce(jsonb_object_agg(key, to_jsonb(memo.*)), '{}') from memo) as memos
        from history.position() as p;
        create table past (token bigint primary key, notes jsonb, memos jsonb);
        -- The maximum number of nested statements that the present top-level statement may still run.
        create table budget (statements int);
        insert into budget values (0)
        """

    private static let programs = """
        create function some_key() returns text language sql volatile as $$ select chr(97 + floor(random() * 4)::int) $$;
        create function some_number() returns int language sql volatile as $$ select floor(random() * 100)::int $$;

        -- Returns a random statement, often about the row for which a trigger was fired.
        create function some_statement(own_key text) returns text language plpgsql as $$
        declare
            subject constant text := (array['note', 'note', 'memo', 'plain'])[1 + floor(random() * 4)];
            key constant text := case when random() < 0.5 then coalesce(own_key, some_key()) else some_key() end;
            number constant int := some_number();
            templates constant text[] := array[
                'insert into %1$s (key, number) values (%2$L, %3$s)',
                'insert into %1$s (key, number) values (%2$L, %3$s), (''e'', %3$s) on conflict (key) do update set number = excluded.number',
                'insert into %1$s (key, number) values (%2$L, %3$s), (some_key(), 1) on conflict do nothing',
                'update %1$s set number = %3$s where key = %2$L',
                'update %1$s set number = number + 1 where key <> %2$L',
                'update %1$s set key = some_key() where key = %2$L',
                'update note set key = chr(ascii(key) + 1) where key = %2$L',
                'update note set text = %3$L, number = number where key = %2$L',
                'update note set up = (select key from note where key <> %2$L order by random() limit 1) where key = %2$L',
                'update memo set note = (select key from note order by random() limit 1) where key = %2$L',
                'update plain set note = (select key from note order by random() limit 1)',
                'delete from %1$s where key = %2$L',
                'delete from %1$s where number %% 3 = %3$s %% 3',
                'with d as (delete from %1$s where key = %2$L returning *)
                 insert into %1$s (key, number) select key, number + 1 from d',
                'with d as (delete from note returning *)
                 insert into note (key, number, text) select key, number + 1, text from d limit %3$s %% 3',
                'with u as (update note set number = %3$s where key = %2$L returning 1),
                      i as (insert into memo (key, number) select some_key(), 1 from u on conflict do nothing)
                 delete from plain where key = %2$L',
                'merge into %1$s using (values (some_key(), %3$s), (%2$L, 2)) as s (k, n) on key = k
                 when matched and n > 50 then %4$s when matched then update set number = n
                 when not matched then insert (key, number) values (k, n)'];
        begin
            -- Here, MERGE deletes no rows of `note`, which has a foreign key to itself. In PostgreSQL 16.11, no trigger sees rows
            -- that MERGE deletes from such a table (in 15.18, 17.10 and 18.6, triggers see them).
            return format(templates[1 + floor(random() * cardinality(templates))], subject, key, number,
                          case subject when 'note' then 'do nothing' else 'delete' end);
        end $$;

        create function act() returns trigger language plpgsql as $$
        declare
            own_key text;
            left_over int;
        begin
            if tg_level = 'ROW' then own_key := case tg_op when 'DELETE' then old.key else new.key end; end if;
            update budget set statements = statements - 1 returning statements into left_over;
            if left_over > 0 and random() < 0.6 then
                execute some_statement(own_key);
            elsif left_over > 0 then
                begin
                    execute some_statement(own_key);
                    if random() < 0.2 then raise exception 'undone'; end if;
                exception when others then null;
                end;
            end if;
            if tg_level = 'STATEMENT' or tg_when = 'AFTER' or random() < 0.05 then return null; end if;
            return case tg_op when 'DELETE' then old else new end;
        end $$;
        create function make_room() returns trigger language plpgsql as $$
        begin
            if random() < 0.3 then execute format('delete from %I where key = $1', tg_table_name) using new.key; end if;
            return new;
        end $$;

        -- Creates triggers whose names sort before, between and after the names of the history's triggers.
        create procedure make_triggers() language plpgsql as $$
        declare
            trigger record;
        begin
            for trigger in
                select subject, timing, level,
                       format('%s_%s_%s', (array['a', 'history_a', 'history_o', 'z'])[1 + floor(random() * 4)], timing, level) as name,
                       random() < 0.3 as may_be_deferred,
                       (array['immediate', 'deferred'])[1 + floor(random() * 2)] as initially
                from unnest(array['note', 'memo', 'plain']) as subject, unnest(array['before', 'after']) as timing,
                     unnest(array['row', 'statement']) as level
                where random() < 0.55
            loop
                if trigger.timing = 'after' and trigger.level = 'row' and trigger.may_be_deferred then
                    execute format('create constraint trigger %I after insert or update or delete on %I deferrable initially %s
                                    for each row execute function act()', trigger.name, trigger.subject, trigger.initially);
                else
                    execute format('create trigger %I %s insert or update or delete on %I for each %s execute function act()',
                                   trigger.name, trigger.timing, trigger.subject, trigger.level);
                end if;
            end loop;
            for trigger in
                select subject from unnest(array['note', 'memo', 'plain']) as subject where random() < 0.4
            loop
                execute format('create trigger %I before insert on %I for each row execute function make_room()',
                               (array['b', 'y'])[1 + floor(random() * 2)], trigger.subject);
            end loop;
        end $$;

        create procedure run(seed double precision, transactions int) language plpgsql as $$
        begin
            perform setseed(seed);
            call make_triggers();
            commit;
            for number in 1 .. transactions loop
                begin
                    for statement in 1 .. 1 + floor(random() * 4)::int loop
                        update budget set statements = case when random() < 0.3 then 0 else floor(random() * 8) end;
                        begin
                            execute some_statement(null);
                            -- Later changes of the transaction have the same token, too.
                            if random() < 0.1 then set constraints all immediate; end if;
                            if random() < 0.1 then set constraints all deferred; end if;
                            if random() < 0.1 then raise exception 'undone'; end if;
                        exception when others then null;
                        end;
                    end loop;
                    -- Deferred triggers run here and not at the commit, because an error at the commit would end the procedure.
                    set constraints all immediate;
                    set constraints all deferred;
                exception when others then null;
                end;
                commit;
                insert into past select * from present on conflict do nothing;
                commit;
            end loop;
        end $$
        """

    private static let oracle = """
        create function contradictions() returns setof text language plpgsql as $$
        declare
            state jsonb := (select jsonb_build_object('note', notes, 'memo', memos) from present);
            change record;
            known record;
            then_row jsonb;
        begin
            for change in
                select t.token, c.*, lag(t.token) over (order by t.token desc, c.ordinal desc) is distinct from t.token as is_last
                from history.transaction t join history.change c on c.transaction = t.id
                order by t.token desc, c.ordinal desc
            loop
                select * into known from past where token = change.token;
                if found and change.is_last and state <> jsonb_build_object('note', known.notes, 'memo', known.memos) then
                    return next format('as of %s the tables hold %s instead of %s and %s', change.token, state, known.notes, known.memos);
                    return;
                end if;
                then_row := state -> change.entity -> change.key;
                if (then_row is null) <> (change.operation = 'delete') then
                    return next format('%s.%s: %s of %s, which then %s', change.token, change.ordinal, change.operation, change.key,
                                       coalesce('is ' || then_row::text, 'does not exist'));
                elsif change.operation = 'update' and exists (
                    select from jsonb_each(change.before) as old where then_row -> old.key = old.value) then
                    return next format('%s.%s: update of %s from %s to %s', change.token, change.ordinal, change.key, change.before, then_row);
                end if;
                state := case change.operation
                    when 'insert' then state #- array[change.entity, change.key]
                    else jsonb_set(state, array[change.entity, change.key],
                                   case change.operation when 'update' then then_row || change.before else change.before end)
                end;
            end loop;
            if state <> '{"note": {}, "memo": {}}' then return next format('before the first change, the tables hold %s', state); end if;
            return query
            select format('token %s has the ordinals %s', t.token, array_agg(c.ordinal order by c.ordinal))
            from history.transaction t left join history.change c on c.transaction = t.id
            group by t.id
            having t.token is null or array_agg(c.ordinal order by c.ordinal) <> array(select generate_series(1, t.changes));
        end $$
        """
}
