import Feed
import PostgreSQL

public enum UnknownCodes {
    /// Checks that an earthquake is in the table, or that the history contains a change of it.
    ///
    /// - Throws: `Failure` if neither is the case; `PostgresError`.
    public static func check(_ code: String, on connection: Connection) async throws {
        guard try await isKnown(code, on: connection) else { throw Failure.unknownCodes([code]) }
    }

    /// Whether an earthquake is in the table, or the history contains a change of it.
    static func isKnown(_ code: String, on connection: Connection) async throws -> Bool {
        try await connection.query(
            """
            select exists (select from only public.quake where code = \(code))
                or exists (select from history.change where entity = 'quake' and key = \(code)) as known
            """, to: "look for an earthquake")[0].decode("known")
    }
}

extension Failure {
    /// - Parameter consequence: the consequence for the operation, such as `nothing was deleted`.
    static func unknownCodes(_ codes: [String], consequence: String? = nil) -> Failure {
        Failure(
            .noInput,
            "no such earthquake: \(codes.joined(separator: ", "))\(consequence.map { "; \($0)" } ?? "")")
    }
}
