import Logging
import PostgreSQL

extension View {
    /// Applies what has changed since the view's position, over a connection that the caller lends.
    ///
    /// - Returns: the position that the view has reached.
    /// - Throws: `PostgresError`; what the view throws.
    @discardableResult
    public func applyPass(over connection: Connection, logger: Logger) async throws -> Position {
        var passReader = PassReader(
            connection: connection, view: self, name: nil, answerLimit: PollInterval().answer, logger: logger,
            position: try await position())
        return try await passReader.applyPass()
    }
}
