import Feed
import Logging
import PostgreSQL

/// A database's five roles. They can't log in: they are granted to logins.
///
/// Roles belong to the whole server, their privileges to one database. `establish` brings both up to date for this
/// version, and may be called any number of times.
public struct Roles: Sendable {
    /// The beginning of every role name: `quakes_` gives `quakes_owner`, and so on.
    public let prefix: String

    public static let standardPrefix = "quakes_"

    public enum Purpose: String, Sendable, CaseIterable {
        /// Owns everything, migrates and prunes.
        case owner
        /// Imports and deletes earthquakes.
        case writer
        /// Reads the table and its history, including overwritten values, and records how far it has read.
        case reader
        /// Sends notifications: reads the earthquakes and their history, and stores the messages.
        case notifier
        /// Reads only the schema `report`.
        case report
    }

    /// - Throws: `Failure` when the prefix would need quotes in SQL, is longer than 41 characters, or begins with PostgreSQL's
    ///   own `pg_`.
    public init(prefix: String = standardPrefix) throws {
        guard prefix.wholeMatch(of: /[a-z][a-z0-9_]{0,40}/) != nil, !prefix.hasPrefix("pg_") else {
            throw Failure(
                .usage,
                """
                a role prefix has at most 41 lower-case letters, digits and _; \
                it begins with a letter, but not with pg_
                """)
        }
        self.prefix = prefix
    }

    public func name(_ purpose: Purpose) -> String { prefix + purpose.rawValue }

    /// Creates the roles that are missing, makes `owner` the owner of the schema, and grants each role the privileges that it
    /// needs. It revokes every other privilege from the roles and from PUBLIC, which also loses CONNECT and TEMPORARY on the
    /// database.
    ///
    /// Runs as one transaction. It needs a superuser, or the database's owner with CREATEROLE. Nothing else in the database
    /// changes: PostgreSQL's own functions keep their privileges, even if a superuser runs this.
    ///
    /// - Returns: the names of the roles it created.
    /// - Throws: `PostgresError`; then nothing has changed.
    public func establish(on connection: Connection) async throws -> [String] {
        try await connection.write(to: "establish the roles") {
            try await connection.execute(script: Migrator.ownNames, to: "set the search path")
            try await connection.query(
                "select pg_advisory_xact_lock(\(Migrator.beginning))", to: "take the migration lock")
            var created: [String] = []
            for purpose in Purpose.allCases where try await create(purpose, on: connection) {
                created.append(name(purpose))
            }
            try await connection.execute(script: membership, to: "become a member of \(name(.owner))")
            try await connection.execute(script: Migrator.lock, to: "take the migration lock")
            try await connection.execute(script: ownership, to: "give the schema to \(name(.owner))")
            try await connection.execute(script: grants, to: "grant the roles their privileges")
            return created
        }
    }

    private func create(_ purpose: Purpose, on connection: Connection) async throws -> Bool {
        let name = name(purpose)
        let known = try await connection.query(
            "select from pg_roles where rolname = \(name)", to: "look up role \(name)")
        guard known.isEmpty else { return false }
        // Another database's migrator may be creating the same role.
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

    /// Only a member of the owner's role can transfer objects to that role. From PostgreSQL 16 on, the login that created the role
    /// may grant it, but is not yet a member with its privileges (usage) that may become the role (set).
    private var membership: String {
        let owner = name(.owner)
        return """
            do $$
            begin
                if not pg_has_role('\(owner)', 'usage')
                   or current_setting('server_version_num')::int >= 160000 and not pg_has_role('\(owner)', 'set') then
                    execute format('grant \(owner) to %I', current_user);
                end if;
            end
            $$
            """
    }

    /// Transfers to the owner everything in our schemas that belongs to another role, and every tracked table, because only
    /// tables of the history's owner can be tracked. To receive objects, the owner needs CREATE on their schemas, so our schemas are
    /// transferred first, and CREATE on the schemas of the tracked tables is granted. The checks of foreign keys, which run with
    /// the owner's rights, need USAGE there.
    private var ownership: String {
        let owner = name(.owner)
        return """
            do $$
            declare
                place regnamespace;
                transfer record;
            begin
                execute format('grant connect, create, temporary on database %I to \(owner)', current_database());
                for place in
                    select distinct c.relnamespace from history.tracked t join pg_class c on c.oid = t.relation
                    where not has_schema_privilege('\(owner)', c.relnamespace, 'usage')
                       or not has_schema_privilege('\(owner)', c.relnamespace, 'create')
                loop
                    execute format('grant usage, create on schema %s to \(owner)', place);
                end loop;
                for transfer in
                    select object.class = 'pg_namespace'::regclass as is_of_schema,
                           format('alter %s %s owner to \(owner)',
                                  case named.type when 'composite type' then 'type' else named.type end, named.identity) as statement
                    from (select n.oid from pg_namespace n where n.nspname in ('import', 'history', 'report', 'notify')) as ours
                    cross join lateral (
                        select 'pg_namespace'::regclass, n.oid, n.nspowner from pg_namespace n where n.oid = ours.oid
                        union all
                        -- Sequences of identity columns and row types are left out, because they change their owner with their
                        -- tables.
                        select 'pg_class'::regclass, c.oid, c.relowner from pg_class c
                        where c.relnamespace = ours.oid and c.relkind in ('r', 'p', 'f', 'v', 'm', 'S', 'c')
                          and not exists (select from pg_depend d
                                          where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'i'
                                            and d.refclassid = 'pg_class'::regclass)
                          -- A view reads tables with its owner's rights, so a view that reads other tables keeps its owner.
                          and not exists (
                              select from pg_rewrite r
                              join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
                                              and d.refclassid = 'pg_class'::regclass
                              join pg_class other on other.oid = d.refobjid
                              where r.ev_class = c.oid and other.oid not in (select t.relation from history.tracked t)
                                and other.relnamespace::regnamespace::text
                                    not in ('import', 'history', 'report', 'notify', 'pg_catalog', 'information_schema'))
                        union all
                        select 'pg_type'::regclass, t.oid, t.typowner from pg_type t
                        where t.typnamespace = ours.oid and t.typtype in ('e', 'd')
                        union all
                        select 'pg_proc'::regclass, p.oid, p.proowner from pg_proc p where p.pronamespace = ours.oid
                    ) as object (class, oid, owner)
                    cross join lateral pg_identify_object(object.class, object.oid, 0) as named
                    where object.owner <> '\(owner)'::regrole
                    union
                    select false, format('alter table %s owner to \(owner)', c.oid::regclass) from pg_class c
                    where (c.oid = 'public.quake'::regclass or c.oid in (select t.relation from history.tracked t))
                      and c.relowner <> '\(owner)'::regrole
                    order by is_of_schema desc
                loop
                    execute transfer.statement;
                end loop;
            end
            $$
            """
    }

    /// Revokes everything, then grants each role the privileges that it needs, so that nothing remains of an earlier version's
    /// grants.
    private var grants: String {
        let (owner, writer, reader, report) = (name(.owner), name(.writer), name(.reader), name(.report))
        let notifier = name(.notifier)
        let members = "\(writer), \(reader), \(notifier), \(report)"
        return """
            do $$
            begin
                execute format('revoke all on database %I from public, \(members)', current_database());
                execute format('grant connect on database %I to \(members)', current_database());
                -- The writer keeps the features of a batch in temporary tables.
                execute format('grant temporary on database %I to \(writer)', current_database());
            end
            $$;
            revoke all on schema import, history, report, notify from public, \(members);
            revoke all on public.quake, public.earthquake, public.earthquake_member, public.association_override
                from public, \(members);
            revoke all on all tables in schema import, history, report, notify from public, \(members);
            revoke all on all sequences in schema import, history, report, notify from public, \(members);
            revoke all on all functions in schema import, history, report, notify from public, \(members);
            -- PUBLIC must not execute functions that later migrations create, either.
            alter default privileges for role \(owner) revoke execute on functions from public;

            -- Every role has to check the schema's version.
            grant usage on schema import to \(members);
            grant select on import.migration to \(members);

            grant select, insert, update, delete on public.quake, public.earthquake, public.earthquake_member,
                public.association_override to \(writer);
            -- An associator also reads overwritten values, so its login needs both roles: the writer's and the reader's.
            grant select, update on import.association to \(writer);
            grant select, insert, update on import.run, import.reject, import.feed, import.sweep, import.mirror,
                import.backfill to \(writer);
            grant select, insert, update, delete on import.settled, import.withdrawn, import.deleted to \(writer);
            -- The writer may discard an unfinished backfill.
            grant delete on import.backfill to \(writer);
            grant execute on all functions in schema import to \(writer);
            -- The writer reads the tokens of a run and the status, but no overwritten values.
            grant usage on schema history to \(writer);
            grant select (id, token, context, committed_at, nonce) on history.transaction to \(writer);
            grant select on import.last_run, history.store to \(writer);
            grant execute on function history.position(), history.current_token() to \(writer);

            grant select on public.quake, public.earthquake, public.earthquake_member, public.association_override,
                import.association, import.run, import.reject, import.feed, import.sweep, import.mirror, import.settled,
                import.last_run to \(reader);
            grant usage on schema history to \(reader);
            grant select on history.tracked, history.transaction, history.change, history.store, history.reader,
                history.citation to \(reader);
            grant execute on function history.position(), history.check(uuid, bigint, timestamptz, text),
                history.since(bigint, text, bigint), history.of_key(text, text, bigint), history.overwritten(jsonb),
                history.changes(bigint, text, bigint), history.changed_keys(bigint, text), history.current_token(),
                history.shape(regclass), history.refuse_rewritten(regclass),
                history.report(text, bigint), import.service_of(text) to \(reader);

            grant select on public.quake, public.earthquake, public.earthquake_member, import.association to \(notifier);
            grant usage on schema history, notify to \(notifier);
            grant select on history.transaction, history.change, history.store, history.citation to \(notifier);
            grant execute on function history.position(), history.check(uuid, bigint, timestamptz, text),
                history.since(bigint, text, bigint), history.of_key(text, text, bigint), history.overwritten(jsonb),
                history.shape(regclass), history.report(text, bigint), import.successor(text, boolean) to \(notifier);
            grant select on notify.event to \(notifier);
            grant select, update on notify.state to \(notifier);
            grant select, insert, update, delete on notify.seen, notify.standing, notify.outbox to \(notifier);
            grant execute on all functions in schema notify to \(notifier);
            -- The state of the deliveries, without the messages.
            grant usage on schema notify to \(writer), \(reader);
            grant select on notify.receiver to \(writer), \(reader);

            -- Views and functions for earthquakes near a place, for agencies, for held periods and for the status.
            grant usage on schema report to \(writer), \(reader);
            grant select on report.coverage, report.reader_lag to \(writer), \(reader);
            grant execute on function report.seconds(interval), report.agency(text), report.distance_km(
                double precision, double precision, double precision, double precision) to \(writer), \(reader);

            grant usage on schema report to \(report);
            -- A view may read a view that has another owner.
            grant select on all tables in schema report to \(report), \(owner);
            grant execute on all functions in schema report to \(report);

            -- Triggers fire without this privilege. A login that had it could attach a function to its own table, and the casts
            -- of that table's types would run the login's code with the rights of the function's owner.
            do $$
            declare
                name regprocedure;
            begin
                for name in
                    select p.oid from pg_proc p
                    where p.prorettype = 'trigger'::regtype
                      and p.pronamespace::regnamespace::text in ('import', 'history', 'report', 'notify')
                loop
                    execute format('revoke execute on function %s from public, \(members)', name);
                end loop;
            end
            $$
            """
    }

    /// If an error is about a missing privilege, adds a remedy that names the role to grant. Returns any other error unchanged,
    /// and also the error of a login that has the role.
    public static func naming(
        _ purpose: Purpose, in error: any Error, _ options: ConnectionOptions, logger: Logger
    ) async -> any Error {
        guard var refused = error as? PostgresError, refused.sqlState == "42501" else {
            return error
        }
        do {
            let remedy = try await Connection.with(options, logger: logger) {
                try await Roles.remedy(for: purpose, on: $0)
            }
            if let remedy { refused.remedy = remedy }
        } catch {
            // The login may not even connect, so the role can't be looked up. The error names the role with the standard prefix.
            let role = "\(standardPrefix)\(purpose)"
            refused.remedy =
                "grant \(role) to \(options["user"] ?? "the login"), or run quakes migrate --roles"
        }
        return refused
    }

    /// Returns a text that says which role to grant to a login that was refused access.
    ///
    /// The role's name is derived from the table's owner. If there are no roles, the text says how to create them. The result is
    /// nil if the login has the role.
    public static func remedy(for purpose: Purpose, on connection: Connection) async throws -> String? {
        let row = try await connection.query(
            """
            select current_user as login, pg_get_userbyid(c.relowner) as owner,
                   role.oid is not null as known, coalesce(pg_has_role(role.oid, 'usage'), false) as granted
            from (values (1)) as one
            left join (pg_class c join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public')
              on c.relname = 'quake' and c.relkind = 'r'
            left join pg_roles role
              on role.rolname = regexp_replace(pg_get_userbyid(c.relowner), 'owner$', \(purpose.rawValue))
            """, to: "look up the roles")[0]
        if try row.decode("granted") { return nil }
        let login: String = try row.decode("login")
        let owner = try row.decodeIfPresent("owner", as: String.self) ?? ""
        guard try row.decode("known"), owner.hasSuffix(Purpose.owner.rawValue) else {
            let roles = try Roles()
            return
                "\(login) lacks a role: have the database's owner run quakes migrate --roles, then: grant \(roles.name(purpose)) to \(login)"
        }
        let role = owner.dropLast(Purpose.owner.rawValue.count) + purpose.rawValue
        return "\(login) lacks a role: grant \(role) to \(login)"
    }
}
