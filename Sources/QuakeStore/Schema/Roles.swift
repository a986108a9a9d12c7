import PostgreSQL

/// The four roles of a database: nobody logs in as one of them, they are granted to those who do.
///
/// Roles belong to the whole server, what they may do to one database. `establish` brings both to what this version wants,
/// as often as it is called.
public struct Roles: Sendable {
    /// Before the names: `quakes_` makes `quakes_owner`, …
    public let prefix: String

    public static let standardPrefix = "quakes_"

    /// What a login is for.
    public enum Purpose: String, Sendable, CaseIterable {
        /// Owns all there is, migrates and prunes.
        case owner
        /// Imports and deletes earthquakes.
        case writer
        /// Reads the table and its history, with what changes have overwritten, and tells how far it has come.
        case reader
        /// Reads the schema `report`, and nothing else.
        case report
    }

    /// - Throws: `InvalidPrefix` when it needs quotes in SQL, or is PostgreSQL's own.
    public init(prefix: String = standardPrefix) throws {
        guard prefix.wholeMatch(of: /[a-z][a-z0-9_]{0,40}/) != nil, !prefix.hasPrefix("pg_") else {
            throw InvalidPrefix(prefix: prefix)
        }
        self.prefix = prefix
    }

    public func name(_ purpose: Purpose) -> String { prefix + purpose.rawValue }

    /// Creates the roles that are missing, makes `owner` the owner of the schema, and gives each role what it needs and
    /// takes away all else: from these roles, and from PUBLIC, which loses CONNECT and TEMPORARY on the database too.
    ///
    /// One transaction. Needs a superuser, or the database's owner with CREATEROLE; only a superuser can also keep all but the
    /// owner and the writer from taking advisory locks, which keep workers apart.
    ///
    /// - Returns: the names of the roles it created.
    /// - Throws: `PostgresError`; nothing has changed then.
    public func establish(on connection: Connection) async throws -> [String] {
        try await connection.transaction(to: "establish the roles") {
            try await connection.query(
                "select pg_advisory_xact_lock(\(Migrator.lock))", to: "take the migration lock")
            var created: [String] = []
            for purpose in Purpose.allCases where try await create(purpose, on: connection) {
                created.append(name(purpose))
            }
            try await connection.execute(script: ownership, to: "give the schema to \(name(.owner))")
            try await connection.execute(script: grants, to: "grant the roles what they need")
            return created
        }
    }

    private func create(_ purpose: Purpose, on connection: Connection) async throws -> Bool {
        let name = name(purpose)
        let known = try await connection.query(
            "select from pg_roles where rolname = \(name)", to: "look for role \(name)")
        guard known.isEmpty else { return false }
        // The migrator of another database may be doing the same.
        try await connection.execute(
            script: """
                do $$
                begin
                    create role \(name) nologin;
                exception when duplicate_object or unique_violation then null;
                end
                $$
                """, to: "create role \(name)")
        return true
    }

    /// Everything in our schemas that belongs to another one. Who gives something away has to be a member of the one who gets
    /// it, and that one needs CREATE where it will lie.
    private var ownership: String {
        let owner = name(.owner)
        return """
            do $$
            declare
                statement text;
            begin
                if not pg_has_role('\(owner)', 'member') then
                    execute format('grant \(owner) to %I', current_user);
                end if;
                execute format('grant connect, create, temporary on database %I to \(owner)', current_database());
                if not has_schema_privilege('\(owner)', 'public', 'create') then
                    grant usage, create on schema public to \(owner);
                end if;
                for statement in
                    select format('alter schema %I owner to \(owner)', n.nspname)
                    from pg_namespace n
                    where n.nspname in ('import', 'history', 'report') and n.nspowner <> '\(owner)'::regrole
                    union all
                    -- Sequences of identity columns go with their tables, types of rows with theirs.
                    select format('alter %s %s owner to \(owner)',
                                  case c.relkind when 'v' then 'view' when 'S' then 'sequence' when 'c' then 'type'
                                                 else 'table' end,
                                  c.oid::regclass)
                    from pg_class c join pg_namespace n on n.oid = c.relnamespace
                    where (n.nspname in ('import', 'history', 'report') or c.oid = 'public.quake'::regclass)
                      and c.relkind in ('r', 'v', 'S', 'c') and c.relowner <> '\(owner)'::regrole
                      and not exists (select from pg_depend d
                                      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i'
                                        and d.refclassid = 'pg_class'::regclass)
                    union all
                    select format('alter type %s owner to \(owner)', t.oid::regtype)
                    from pg_type t join pg_namespace n on n.oid = t.typnamespace
                    where n.nspname in ('import', 'history', 'report') and t.typtype = 'e'
                      and t.typowner <> '\(owner)'::regrole
                    union all
                    select format('alter function %s owner to \(owner)', p.oid::regprocedure)
                    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
                    where n.nspname in ('import', 'history', 'report') and p.proowner <> '\(owner)'::regrole
                loop
                    execute statement;
                end loop;
            end
            $$
            """
    }

    /// First nothing, then what each needs: what an earlier version granted does not stay.
    private var grants: String {
        let (owner, writer, reader, report) = (name(.owner), name(.writer), name(.reader), name(.report))
        let members = "\(writer), \(reader), \(report)"
        return """
            do $$
            begin
                execute format('revoke all on database %I from public, \(members)', current_database());
                execute format('grant connect on database %I to \(members)', current_database());
                -- The batches on their way into the table.
                execute format('grant temporary on database %I to \(writer)', current_database());
            end
            $$;
            revoke all on schema import, history, report from public, \(members);
            revoke all on public.quake from public, \(members);
            revoke all on all tables in schema import, history, report from public, \(members);
            revoke all on all sequences in schema import, history, report from public, \(members);
            revoke all on all functions in schema import, history, report from public, \(members);
            -- Also of what later migrations bring.
            alter default privileges for role \(owner) revoke execute on functions from public;

            -- What the server lets every login do: take the locks that keep workers apart, and store large objects. These
            -- functions are the superuser's to grant.
            do $$
            declare
                statement text;
            begin
                if current_setting('is_superuser') = 'off' then return; end if;
                for statement in
                    select format('revoke execute on function %s from public', p.oid::regprocedure)
                    from pg_proc p
                    where p.pronamespace = 'pg_catalog'::regnamespace
                      and (p.proname ~ '^pg_(try_)?advisory_' or p.proname in ('lo_create', 'lo_creat', 'lo_from_bytea'))
                    union all
                    select format('grant execute on function %s to \(owner), \(writer)', p.oid::regprocedure)
                    from pg_proc p
                    where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^pg_(try_)?advisory_'
                loop
                    execute statement;
                end loop;
            end
            $$;

            -- Whether the schema is that of their version.
            grant usage on schema import to \(members);
            grant select on import.migration to \(members);

            grant select, insert, update, delete on public.quake to \(writer);
            grant select, insert, update on import.run, import.reject, import.feed, import.backfill to \(writer);
            grant select, insert, update, delete on import.settled, import.withdrawn to \(writer);
            grant execute on all functions in schema import to \(writer);
            -- The tokens of a run; not what was overwritten.
            grant usage on schema history to \(writer);
            grant select (id, token, context) on history.transaction to \(writer);

            grant select on public.quake, import.run, import.reject, import.feed, import.last_run to \(reader);
            grant usage on schema history to \(reader);
            grant select on history.transaction, history.change, history.store, history.reader,
                history.reader_lag to \(reader);
            grant execute on function history.position(), history.check(uuid, bigint, timestamptz),
                history.changes(bigint, text), history.changed_keys(bigint, text), history.current_token(),
                history.report(text, bigint) to \(reader);

            -- Earthquakes near a place. Who reads no report finds only this function there.
            grant usage on schema report to \(writer), \(reader);
            grant execute on function report.distance_km(
                double precision, double precision, double precision, double precision) to \(writer), \(reader);

            grant usage on schema report to \(report);
            grant select on all tables in schema report to \(report);
            grant execute on all functions in schema report to \(report)
            """
    }

    /// What to grant whom, for a login that was refused something.
    ///
    /// Names the roles by the owner of the table, and says how to make them where there are none.
    public static func remedy(for purpose: Purpose, on connection: Connection) async throws -> String {
        let row = try await connection.query(
            """
            select current_user as login, pg_get_userbyid(c.relowner) as owner,
                   exists (select from pg_roles
                           where rolname = regexp_replace(pg_get_userbyid(c.relowner), 'owner$', \(purpose.rawValue))) as known
            from (values (1)) as one
            left join (pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public')
              on c.relname = 'quake' and c.relkind = 'r'
            """, to: "look for the roles")[0]
        let login: String = try row.decode("login")
        let owner = try row.decodeIfPresent("owner", as: String.self) ?? ""
        guard try row.decode("known"), owner.hasSuffix(Purpose.owner.rawValue) else {
            let roles = try Roles()
            return
                "\(login) lacks a role: let the database's owner run quakes migrate --roles, then: grant \(roles.name(purpose)) to \(login)"
        }
        let role = owner.dropLast(Purpose.owner.rawValue.count) + purpose.rawValue
        return "\(login) lacks a role: grant \(role) to \(login)"
    }
}

/// Not what a role's name can begin with.
public struct InvalidPrefix: Error, Equatable, CustomStringConvertible {
    public let prefix: String

    public var description: String {
        "the prefix of roles is made of small letters, digits and _, begins with a letter, and not with pg_"
    }
}
