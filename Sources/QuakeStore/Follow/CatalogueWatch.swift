import Feed
import Logging
import PostgreSQL

/// Watches the catalogue's state over one connection: it listens, and asks now and then.
///
/// States may be skipped: of several commits in a row, only the last one may be told. It reconnects for as long as it
/// takes, so that a restart of the server costs time only.
public struct CatalogueWatch: Sendable {
    private let options: ConnectionOptions
    private let poll: PollInterval
    private let logger: Logger

    /// - Parameter poll: how often to ask although nothing was heard, which is when a document was settled that changed
    ///   nothing.
    public init(
        _ options: ConnectionOptions,
        poll: PollInterval = PollInterval(listening: .seconds(5), standby: .seconds(1)), logger: Logger
    ) {
        (self.options, self.poll, self.logger) = (options, poll, logger)
    }

    /// Tells the state after each reading, changed or not, until the task is cancelled.
    ///
    /// - Throws: `CancellationError` only.
    public func run(_ told: @Sendable (CatalogueState) -> Void) async throws {
        var backoff = Backoff(from: .milliseconds(250), to: .seconds(10))
        while true {
            do {
                try await Connection.with(options, logger: logger) { connection in
                    try await watch(connection) {
                        backoff.reset()
                        told($0)
                    }
                }
            } catch {
                try Task.checkCancellation()
                let wait = backoff.next()
                logger.warning("\(error); reconnecting in \(wait / .milliseconds(1)) ms")
                try await Task.sleep(for: wait)
            }
        }
    }

    private func watch(_ connection: Connection, _ told: (CatalogueState) -> Void) async throws {
        if try await canListen(connection) {
            try await connection.listen(to: "quake_changes") { notifications in
                while true {
                    // One reading answers all that were heard before it.
                    while try await notifications.next(within: .zero) != nil {}
                    told(try await state(connection))
                    _ = try await notifications.next(within: poll.listening)
                }
            }
        }
        while true {
            told(try await state(connection))
            try await Task.sleep(for: poll.standby)
        }
    }

    /// A hot standby refuses LISTEN, and a pooler in transaction mode loses it.
    private func canListen(_ connection: Connection) async throws -> Bool {
        let isStandby: Bool = try await connection.expectingAnswer(within: poll.answer) {
            try await connection.query("select pg_is_in_recovery() as standby", to: "probe the connection")[0]
                .decode("standby")
        }
        if isStandby { return false }
        do {
            try await connection.requireSession(to: "listen")
            return true
        } catch let error as NoSession {
            logger.notice("\(error); asking every \(poll.standby / .milliseconds(1)) ms instead")
            return false
        }
    }

    private func state(_ connection: Connection) async throws -> CatalogueState {
        try await connection.expectingAnswer(within: poll.answer) {
            try await CatalogueState.read(on: connection)
        }
    }
}
