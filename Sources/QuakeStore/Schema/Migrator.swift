import Feed
import PostgreSQL

/// Brings a database's schema up to date with this version of Quakes.
///
/// Each migration is one transaction. Several migrators can start at once: a lock on the list of migrations lets one of
/// them work, and the others find the work done.
public struct Migrator: Sendable {
    private let connection: Connection

    public init(_ connection: Connection) {
        self.connection = connection
    }

    /// - Returns: whether the schema is `behind` or `ahead`; nil if it is current.
    /// - Throws: `MigrationError.edited` if an applied migration differs from the one in this version.
    public func difference() async throws -> MigrationError? {
        let applied = try await appliedMigrations()
        for migration in Migration.all {
            if let checksum = applied[migration.number], checksum != migration.checksum {
                throw MigrationError.edited(migration.title)
            }
        }
        let newest = applied.keys.max() ?? 0
        let known = Migration.all.last?.number ?? 0
        if newest > known { return .ahead(newest) }
        let missing = Migration.all.filter { applied[$0.number] == nil }
        return missing.isEmpty ? nil : .behind(missing.map(\.title))
    }

    /// The titles of the migrations that have not been applied.
    ///
    /// - Throws: `MigrationError`.
    public func missing() async throws -> [String] {
        switch try await difference() {
        case nil: []
        case .behind(let titles)?: titles
        case let error?: throw error
        }
    }

    /// - Returns: the titles of the migrations that this call has applied.
    /// - Throws: `PostgresError`, which names the failed migration; earlier migrations stay applied. `MigrationError`.
    @discardableResult
    public func migrate() async throws -> [String] {
        var applied: [String] = []
        let missing = try await missing()
        try await checkEncoding()
        let owner = try await otherOwner()
        for migration in Migration.all where missing.contains(migration.title) {
            if try await apply(migration, as: owner) { applied.append(migration.title) }
        }
        try await describeColumns(as: owner)
        return applied
    }

    /// Until the transaction ends, a name without a schema means an object of PostgreSQL itself. Otherwise, in databases where
    /// anyone may create functions in the schema `public`, such functions could run with the migrator's rights and become part of
    /// the objects that it creates. Scripts also rely on PostgreSQL's defaults for texts and quoted names.
    static let ownNames = """
        set local search_path = pg_catalog, pg_temp; set local standard_conforming_strings = on;
        set local quote_all_identifiers = off
        """

    /// Whether anyone who may connect may create functions and tables in the schema `public`, as in databases made before
    /// PostgreSQL 15.
    public func isPublicSchemaOpen() async throws -> Bool {
        try await connection.query(
            "select has_schema_privilege('public', 'public', 'create') as is_open where to_regnamespace('public') is not null",
            to: "check who may create in public"
        ).first?.decode("is_open") ?? false
    }

    /// Keeps other migrators away until the transaction ends. The lock is on a private table, because anyone who may connect can
    /// take an advisory lock.
    static let lock = "lock table import.migration in share row exclusive mode"

    /// The key of the advisory lock that is used while `import.migration` does not exist yet. The key is "quakes" in ASCII, so
    /// other programs are unlikely to use it.
    static let beginning = 0x7175_616B_6573

    /// - Returns: false if another migrator has applied the migration meanwhile.
    private func apply(_ migration: Migration, as owner: String?) async throws -> Bool {
        try await connection.write(to: "migrate \(migration.title)") {
            try await connection.query(
                """
                select case when to_regclass('import.migration') is null
                            then pg_advisory_xact_lock(\(Self.beginning)) end
                """, to: "take the migration lock")
            try await become(owner)
            try await connection.execute(script: Self.ownNames, to: "set the search path")
            if let occupied = try await occupied() {
                throw MigrationError.occupied(migration.title, "\(occupied) already exists")
            }
            try await connection.execute(script: Self.bookkeeping, to: "prepare migrations")
            try await connection.execute(script: Self.lock, to: "take the migration lock")
            let known = try await connection.query(
                "select from import.migration where number = \(migration.number)",
                to: "look for migration \(migration.title)")
            guard known.isEmpty else { return false }
            do {
                try await connection.execute(script: migration.sql, to: "migrate \(migration.title)")
            } catch let error as PostgresError where error.isInTheWay {
                throw MigrationError.occupied(migration.title, error.message)
            }
            try await connection.execute(
                """
                insert into import.migration (number, name, checksum)
                values (\(migration.number), \(migration.name), \(migration.checksum))
                """, to: "record migration \(migration.title)")
            return true
        }
    }

    /// An object with the name of one of ours in a database that was never migrated, where it belongs to another program.
    private func occupied() async throws -> String? {
        try await connection.query(
            """
            select name from (
                select 'schema ' || nspname from pg_namespace where nspname in ('import', 'history', 'report', 'notify')
                union all
                select 'public.' || typname from pg_type
                where typname in ('quake', 'earthquake', 'earthquake_member', 'association_override')
                  and typnamespace = to_regnamespace('public')
                union all
                select 'public.' || relname from pg_class
                where relname in ('quake_time', 'quake_day', 'earthquake_member_earthquake')
                  and relnamespace = to_regnamespace('public')) as ours (name)
            where to_regclass('import.migration') is null
            order by name limit 1
            """, to: "look for objects of other programs"
        ).first?.decode("name")
    }

    /// Sets the comments of the columns of `quake` to those that `Property` declares.
    private func describeColumns(as owner: String?) async throws {
        let rows = try await connection.query(
            """
            select attname as name, col_description(attrelid, attnum) as comment
            from pg_attribute where attrelid = 'public.quake'::regclass and attnum > 0
            """, to: "read the columns' comments")
        let comments = try rows.reduce(into: [String: String]()) { comments, row in
            comments[try row.decode("name")] = try row.decodeIfPresent("comment")
        }
        let changed = Property.allCases.filter { comments[$0.column] != $0.meaning }
        if changed.isEmpty { return }
        try await connection.write(to: "describe the columns of quake") {
            try await become(owner)
            try await connection.execute(script: Self.ownNames, to: "set the search path")
            try await connection.execute(script: Self.lock, to: "take the migration lock")
            for property in changed {
                try await connection.execute(
                    script: """
                        comment on column public.quake.\(property.column)
                        is \(try await connection.quoted(property.meaning))
                        """, to: "describe the column \(property.column)")
            }
        }
    }

    private func become(_ owner: String?) async throws {
        guard let owner else { return }
        try await connection.query("select set_config('role', \(owner), true)", to: "migrate as \(owner)")
    }

    /// Works as the schema's owner until the transaction ends.
    func becomeOwner() async throws { try await become(try await otherOwner()) }

    /// The owner of the table `quake`; nil if the login owns it. New objects get the same owner (see `Roles`).
    private func otherOwner() async throws -> String? {
        try await connection.query(
            """
            select pg_get_userbyid(relowner) as owner from pg_class
            where oid = to_regclass('public.quake') and pg_get_userbyid(relowner) <> current_user
            """, to: "look for the schema's owner"
        ).first?.decode("owner")
    }

    /// Throws an error unless the database's encoding is UTF8. Feeds have place names in every script: with another encoding, the
    /// server would refuse some of them, or would not check their bytes.
    private func checkEncoding() async throws {
        let encoding: String = try await connection.query(
            "select current_setting('server_encoding') as encoding", to: "read the database's encoding")[0]
            .decode("encoding")
        guard encoding == "UTF8" else { throw MigrationError.encoding(encoding) }
    }

    private static let bookkeeping = """
        set local client_min_messages = warning;
        create schema if not exists import;
        create table if not exists import.migration (
            number integer primary key,
            name text not null,
            checksum text not null,
            applied_at timestamptz not null default now()
        );
        comment on schema import is 'The import worker''s own records, and the list of applied migrations.';
        comment on table import.migration is 'Schema migrations applied to this database.';
        comment on column import.migration.number is 'Number of the migration.';
        comment on column import.migration.name is 'Its name.';
        comment on column import.migration.checksum is '64-bit FNV-1a hash of its text when it was applied.';
        comment on column import.migration.applied_at is 'When it was applied.';
        """

    /// The checksums of the applied migrations by number; empty for a database that was never migrated.
    ///
    /// Do not call this in a transaction: in a database that was never migrated, the query fails. Every command calls this
    /// function before its own work, so the function sends only one small statement.
    private func appliedMigrations() async throws -> [Int: String] {
        do {
            let rows = try await connection.query(
                "select number, checksum from import.migration", to: "read the schema's version")
            return try Dictionary(
                uniqueKeysWithValues: rows.map { try ($0.decode("number"), $0.decode("checksum")) })
        } catch let error as PostgresError where error.isUndefinedTable {
            return [:]
        }
    }
}

/// Why this version can't use a database.
public enum MigrationError: Error, Equatable, CustomStringConvertible {
    case behind([String])
    /// The database was migrated by a newer version.
    case ahead(Int)
    case edited(String)
    /// The database's encoding is not UTF8.
    case encoding(String)
    /// The database already has an object with the name of one of Quakes' objects.
    case occupied(String, String)

    public var description: String {
        switch self {
        case .behind(let titles):
            "the database is behind (missing: \(titles.joined(separator: ", "))); run: quakes migrate"
        case .ahead(let number):
            "the database was migrated by a newer version (migration \(number)); install that version of quakes"
        case .encoding(let encoding):
            "the database's encoding is \(encoding), and quakes needs UTF8; create another database: createdb -E UTF8 -T template0 NAME"
        case .occupied(let title, let message):
            "migration \(title): \(message), and does not belong to quakes; use another database, or rename it"
        case .edited(let title):
            "migration \(title) was changed after it had been applied to this database; restore the published migration"
        }
    }
}

extension PostgresError {
    /// Whether a schema, a relation, a type, a function or another object already exists.
    fileprivate var isInTheWay: Bool {
        ["42P06", "42P07", "42710", "42723"].contains(sqlState)
    }
}
