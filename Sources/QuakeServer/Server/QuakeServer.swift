import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// The catalogue over HTTP.
///
/// A few sessions read the database for all clients, and one connection watches its state and follows its changes. When the database goes away, the
/// server stays: it answers 503 until it is back.
public struct QuakeServer: Sendable {
    private let options: ConnectionOptions
    private let settings: ServerSettings
    private let logger: Logger

    public init(_ options: ConnectionOptions, _ settings: ServerSettings, logger: Logger) {
        (self.options, self.settings, self.logger) = (options, settings, logger)
    }

    /// Serves until the task is cancelled. Answers that are under way then have `settings.endingTime` to finish.
    ///
    /// - Parameter started: told the port as soon as the server listens; nil for a socket without one.
    /// - Throws: `ListeningError`.
    public func run(on address: ListeningAddress, _ started: @Sendable (Int?) -> Void) async throws {
        var settings = settings
        let room = OpenFiles.roomForConnections()
        if room < settings.connections {
            logger.notice("clients may hold \(room) connections: the process may not open more files")
            settings.connections = room
        }
        let sessions = Sessions(options, lineLimit: settings.waitingRequests, logger: logger)
        let responder = Responder(sessions: sessions, settings: settings, logger: logger)
        let connections = try await Connections(address, responder, settings, logger)
        started(connections.port)
        // Not a child of this task, because a cancellation has to end the listening first and the sessions last.
        let work = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<settings.sessions { group.addTask { await sessions.keepOne() } }
                group.addTask {
                    do {
                        try await CatalogueWatch(options, view: responder.live, logger: logger).run {
                            responder.board.show($0)
                            responder.live.trim()
                        }
                    } catch is CancellationError {}
                }
                defer { group.cancelAll() }
                try await connections.serve()
            }
        }
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            connections.end()
            responder.live.end()
        }
    }
}

/// The newest state of the catalogue that this process knows.
final class StateBoard: Sendable {
    private let newest = Mutex<(state: CatalogueState, at: ContinuousClock.Instant)?>(nil)

    func show(_ state: CatalogueState) {
        newest.withLock { $0 = (state, .now) }
    }

    var state: CatalogueState? { newest.withLock { $0?.state } }
    /// The time since the database last told its state; nil if it never has.
    var age: Duration? { newest.withLock { $0.map { .now - $0.at } } }
}
