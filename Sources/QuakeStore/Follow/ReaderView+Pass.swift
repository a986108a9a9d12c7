import Logging
import PostgreSQL

extension ReaderView {
    /// Applies what has changed since the view's position, over a connection that the caller lends.
    ///
    /// - Parameter whenBehind: what to do on a hot standby that is behind the view.
    /// - Returns: the position that the view has reached.
    /// - Throws: `PostgresError`; what the view throws; `StandbyBehind`.
    @discardableResult
    public func applyPass(
        over connection: Connection, whenBehind: WhenBehind = .startAnew, logger: Logger
    ) async throws -> Position {
        var passReader = PassReader(
            connection: connection, view: self, name: nil, answerLimit: PollInterval().answer, logger: logger,
            position: try await position())
        passReader.whenBehind = whenBehind
        return try await passReader.applyPass()
    }
}
