import Feed
import PostgreSQL

/// What is kept of the sweeps of one service, in `import.sweep`.
struct SweepCursor: Sendable {
    var cursor: Instant?
    var lacks: Set<EventService.Ability> = []
    var lastLong: Instant?

    /// - Parameter name: the service's name in the database.
    static func read(of name: String, on connection: Connection) async throws -> SweepCursor {
        let row = try await connection.query(
            "select cursor, lacks, long_at from import.sweep where source = \(name)", to: "read the cursor"
        ).first
        guard let row else { return SweepCursor() }
        let lacks: [String] = try row.decode("lacks")
        return SweepCursor(
            cursor: try row.decodeIfPresent("cursor"),
            lacks: Set(lacks.compactMap(EventService.Ability.init(rawValue:))),
            lastLong: try row.decodeIfPresent("long_at"))
    }

    /// Moves the cursor: the part of a statement that goes with the end of the run.
    static func moving(_ name: String, after sweep: Sweep) -> Query {
        """
        swept as (
            insert into import.sweep (source, cursor, swept_at, lacks, long_at)
            values (\(name), \(sweep.moment), clock_timestamp(), \(sweep.lacks),
                    \(sweep.isLong ? sweep.started : sweep.lastLong))
            on conflict (source) do update
            set cursor = excluded.cursor, swept_at = excluded.swept_at, lacks = excluded.lacks, long_at = excluded.long_at
        )
        """
    }
}
