import PostgreSQL

/// The networks of the catalogue's events, in the order of their bytes.
public enum Networks {
    /// The networks that are the preferred network of at least one event.
    public static func preferred(on connection: Connection) async throws -> [String] {
        try await names("select distinct net as name", on: connection)
    }

    /// The networks that contributed to at least one event, as its preferred network or as one of its `sources`.
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
