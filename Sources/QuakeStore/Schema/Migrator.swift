import Migrations
import PostgreSQL

/// Brings a database's schema to this version.
///
/// Each migration is one transaction. Several migrators can start at once: an advisory lock lets one work, and the
/// others find the work done.
public struct Migrator: Sendable {
    private let connection: Connection

    public init(_ connection: Connection) {
        self.connection = connection
    }

    /// Where a database stands, compared with this version.
    public enum State: Sendable, Equatable {
        case current
        /// The migrations that are missing.
        case behind([String])
        /// The database was migrated by a newer version.
        case ahead(Int)
    }

    /// Compares the database with this version; changes nothing.
    ///
    /// - Throws: `MigrationError.edited` when an applied migration is not what this version carries.
    public func state() async throws -> State {
        let applied = try await appliedMigrations()
        try await checkForEdits(applied)
        let newest = applied.keys.max() ?? 0
        let known = Migration.all.last?.number ?? 0
        if newest > known { return .ahead(newest) }
        let missing = Migration.all.filter { applied[$0.number] == nil }
        return missing.isEmpty ? .current : .behind(missing.map(\.title))
    }

    /// Applies what is missing and returns its titles.
    ///
    /// - Throws: `PostgresError` naming the migration; those before it stay applied. `MigrationError`.
    @discardableResult
    public func migrate() async throws -> [String] {
        // Held until the unlock below, or where an error comes first, until the connection closes.
        try await connection.query(
            "select pg_advisory_lock(\(Self.lock))", to: "take the migration lock")
        let titles = try await migrateLocked()
        try await connection.query(
            "select pg_advisory_unlock(\(Self.lock))", to: "release the migration lock")
        return titles
    }

    /// "quakes" in ASCII, to stay clear of other programs' advisory locks.
    static let lock = 0x7175_616B_6573

    private func migrateLocked() async throws -> [String] {
        let missing: [Migration]
        switch try await state() {
        case .current: return []
        case .ahead(let number): throw MigrationError.ahead(number)
        case .behind(let titles): missing = Migration.all.filter { titles.contains($0.title) }
        }
        try await checkEncoding()
        let owner = try await otherOwner()
        for migration in missing {
            try await connection.transaction(to: "migrate \(migration.title)") {
                if let owner {
                    try await connection.query(
                        "select set_config('role', \(owner), true)", to: "migrate as \(owner)")
                }
                try await connection.execute(script: Self.bookkeeping, to: "prepare migrations")
                try await connection.execute(script: migration.sql, to: "migrate \(migration.title)")
                try await connection.execute(
                    """
                    insert into import.migration (number, name, checksum)
                    values (\(migration.number), \(migration.name),
                            encode(sha256(convert_to(\(migration.sql), 'UTF8')), 'hex'))
                    """, to: "record migration \(migration.title)")
            }
        }
        return missing.map(\.title)
    }

    /// Who owns the table, when it is not the login: what is added belongs to the same role (`Roles`).
    private func otherOwner() async throws -> String? {
        try await connection.query(
            """
            select pg_get_userbyid(relowner) as owner from pg_class
            where oid = to_regclass('public.quake') and relowner <> current_user::regrole
            """, to: "look for the schema's owner"
        ).first?.decode("owner")
    }

    /// Feeds name places in every script; another encoding would refuse some of them, or keep their bytes unchecked.
    private func checkEncoding() async throws {
        let row = try await connection.query(
            "select current_setting('server_encoding') as encoding", to: "read the database's encoding")[0]
        let encoding: String = try row.decode("encoding")
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
        comment on schema import is 'What the import worker keeps about its own work.';
        comment on table import.migration is 'Schema migrations that were applied to this database.';
        comment on column import.migration.number is 'Number of the migration.';
        comment on column import.migration.name is 'Its name.';
        comment on column import.migration.checksum is 'SHA-256 of its text when it was applied.';
        comment on column import.migration.applied_at is 'When it was applied.';
        """

    /// Checksums by number; empty for a database that was never migrated.
    private func appliedMigrations() async throws -> [Int: String] {
        let known = try await connection.query(
            "select to_regclass('import.migration') is not null as known", to: "read the schema's version")
        guard try known[0].decode("known") else { return [:] }
        let rows = try await connection.query(
            "select number, checksum from import.migration", to: "read the schema's version")
        return try Dictionary(
            uniqueKeysWithValues: rows.map { try ($0.decode("number"), $0.decode("checksum")) })
    }

    /// The server computes the checksums, which it did when it recorded them.
    private func checkForEdits(_ applied: [Int: String]) async throws {
        let known = Migration.all.filter { applied[$0.number] != nil }
        let texts = known.reduce("" as Query) { list, migration in
            "\(list) (\(migration.number), \(migration.sql)),"
        }
        let rows = try await connection.query(
            """
            select number, encode(sha256(convert_to(sql, 'UTF8')), 'hex') as checksum
            from (values \(texts) (null, null)) as known (number, sql) where number is not null
            """, to: "check the applied migrations")
        for row in rows {
            let number: Int = try row.decode("number")
            guard try row.decode("checksum") == applied[number] else {
                throw MigrationError.edited(known.first { $0.number == number }?.title ?? "\(number)")
            }
        }
    }
}

/// Why a database and this version do not fit together.
public enum MigrationError: Error, Equatable, CustomStringConvertible {
    case behind([String])
    case ahead(Int)
    case edited(String)
    /// The database's encoding is not UTF8.
    case encoding(String)

    public var description: String {
        switch self {
        case .behind(let titles):
            "the database is behind (missing: \(titles.joined(separator: ", "))); run: quakes migrate"
        case .ahead(let number):
            "the database was migrated by a newer version (migration \(number)); install that version of quakes"
        case .encoding(let encoding):
            "the database's encoding is \(encoding), and quakes needs UTF8; make another one: createdb -E UTF8 -T template0 NAME"
        case .edited(let title):
            "migration \(title) was changed after it had been applied to this database; restore the published one"
        }
    }
}
