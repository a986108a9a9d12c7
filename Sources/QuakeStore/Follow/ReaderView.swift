import Logging
import PostgreSQL

/// A view that follows the table: a local copy, or a stream.
public protocol ReaderView: Sendable {
    /// The view's position; nil while the view holds nothing. The position is read once per connection.
    func position() async throws -> Position?

    /// Whether the view can apply changes of a table with this shape without a fresh start.
    func accepts(_ table: TableShape) -> Bool

    /// Whether the view has work to do even if nothing has changed. The follower checks this at each poll. If it is true, the
    /// follower calls `apply` with a pass that may have no changes.
    var isDue: Bool { get }

    /// Applies a pass and stores the pass's position. If one of the two fails, neither takes effect. The function runs on the
    /// connection's executor, so that rows reach the view without a thread switch.
    ///
    /// - Returns: the pass's position.
    func apply(_ pass: Pass) async throws -> Position
}

extension ReaderView {
    public var isDue: Bool { false }

    /// Applies the changes since the view's position, in one pass.
    ///
    /// - Parameters:
    ///   - limit: how long each statement of the pass may take; nil for no limit.
    ///   - patience: how long to wait for a hot standby that is behind the view. After this time, the view starts over.
    ///     If `patience` is nil, `StandbyBehind` is thrown instead.
    /// - Throws: `PostgresError`; any error of the view; `StandbyBehind` if `patience` is nil.
    @discardableResult
    public func applyPass(
        over connection: Connection, limit: Duration? = nil, patience: Duration? = .zero, logger: Logger
    ) async throws -> Position {
        var passReader = PassReader(
            connection: connection, view: self, name: nil, answerLimit: PollInterval().answer, logger: logger,
            limit: limit, patience: patience, position: try await position())
        return try await passReader.applyPass()
    }
}
