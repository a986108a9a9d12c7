/// What follows the table: a local copy, or a stream.
public protocol View: Sendable {
    /// Where it stands; nil when it holds nothing yet. Asked for at each connection.
    func position() async throws -> Position?

    /// Whether it can take rows of these columns without a fresh start.
    func accepts(_ columns: [ViewColumn]) -> Bool

    /// Takes over a pass and its position, both or neither. Runs where its caller does, which is where the connection
    /// works: a pass goes from one to the other without a change of threads.
    ///
    /// - Returns: the pass's position.
    func apply(_ pass: Pass) async throws -> Position
}
