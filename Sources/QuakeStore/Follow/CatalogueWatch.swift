import Feed
import Logging
import PostgreSQL

/// Watches the catalogue over one connection: it listens, keeps a view up to date, and tells the catalogue's state.
///
/// States may be skipped: of several commits in a row, only the last one may be told. It reconnects for as long as it
/// takes, so that a restart of the server costs time only.
public struct CatalogueWatch<V: View>: Sendable {
    private let options: ConnectionOptions
    private let view: V
    private let poll: PollInterval
    private let logger: Logger

    /// - Parameter poll: how often to ask although nothing was heard, which is when a document was settled that changed
    ///   nothing.
    public init(
        _ options: ConnectionOptions, view: V,
        poll: PollInterval = PollInterval(listening: .seconds(5), standby: .seconds(1)), logger: Logger
    ) {
        (self.options, self.view, self.poll, self.logger) = (options, view, poll, logger)
    }

    /// Tells the state after each reading, changed or not, until the task is cancelled. The view is then at that state or
    /// before it.
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

    private func watch(_ connection: isolated Connection, _ told: (CatalogueState) -> Void) async throws {
        var passReader = PassReader(
            connection: connection, view: view, name: nil, answerLimit: poll.answer, logger: logger,
            position: try await view.position())
        if try await canListen(connection) {
            try await connection.listen(to: "quake_changes") { notifications in
                try await passReader.catchUp()
                while true {
                    told(try await state(connection))
                    var heard = try await notifications.next(within: poll.listening)
                    guard heard != nil else {
                        try await passReader.catchUp()
                        continue
                    }
                    // One pass answers all that were heard before it.
                    var token: Int?
                    while let notification = heard {
                        token = Int(notification.payload)
                        heard = try await notifications.next(within: .zero)
                    }
                    try await passReader.read(heard: token)
                }
            }
        }
        while true {
            try await passReader.catchUpOnStandby()
            told(try await state(connection))
            try await Task.sleep(for: poll.standby)
        }
    }

    /// A hot standby refuses LISTEN, and a pooler in transaction mode loses it.
    private func canListen(_ connection: isolated Connection) async throws -> Bool {
        let isStandby: Bool = try await connection.expectingAnswer(within: poll.answer) {
            try connection.query("select pg_is_in_recovery() as standby", to: "probe the connection")[0]
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

    private func state(_ connection: isolated Connection) async throws -> CatalogueState {
        try await connection.expectingAnswer(within: poll.answer) {
            try await CatalogueState.read(on: connection)
        }
    }
}
