import PostgreSQL

/// The networks that the catalogue's events name, in the order of their bytes.
public enum Networks {
    /// Those that are preferred for at least one event.
    public static func preferred(on connection: Connection) async throws -> [String] {
        try await names("select distinct net as name", on: connection)
    }

    /// Those that contributed to at least one event: whose event it is, and its `sources`.
    public static func contributing(on connection: Connection) async throws -> [String] {
        try await names("select distinct unnest(sources || net) as name", on: connection)
    }

    private static func names(_ selected: Query, on connection: Connection) async throws -> [String] {
        try await connection.query(
            """
            select name collate "C" as name from (\(selected) from only public.quake) as network
            where name <> '' order by 1
            """, to: "list the networks"
        ).map { try $0.decode("name") }
    }
}
