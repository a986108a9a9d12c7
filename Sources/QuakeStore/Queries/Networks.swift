import PostgreSQL

/// The networks of the catalogue, in the order of their names.
public struct Networks: Sendable, Equatable {
    /// Those that are preferred for at least one event.
    public let preferred: [String]
    /// Those that contributed to at least one event: its `sources`.
    public let contributing: [String]

    public static func read(on connection: Connection) async throws -> Networks {
        let preferred = try await connection.query(
            """
            select net collate "C" as name from (select distinct net from only public.quake) as network order by 1
            """, to: "list the preferred networks")
        let contributing = try await connection.query(
            """
            select name collate "C" as name
            from (select distinct unnest(sources) as name from only public.quake) as network
            where name <> '' order by 1
            """, to: "list the contributing networks")
        return Networks(
            preferred: try preferred.map { try $0.decode("name") },
            contributing: try contributing.map { try $0.decode("name") })
    }
}
