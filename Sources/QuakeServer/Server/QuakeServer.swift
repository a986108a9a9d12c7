import Logging
import NIOCore
import NIOPosix
import PostgreSQL
import QuakeStore
import Synchronization

/// Serves the catalogue over HTTP.
///
/// A few sessions read the database for all clients, and one more connection watches the catalogue's state and follows its
/// changes. While the database is unreachable, the server answers 503.
public struct QuakeServer: Sendable {
    private let options: ConnectionOptions
    private let settings: ServerSettings
    private let logger: Logger
    private let accessLog: AccessLog?

    public init(
        _ options: ConnectionOptions, _ settings: ServerSettings, logger: Logger, accessLog: AccessLog? = nil
    ) {
        (self.options, self.settings, self.logger, self.accessLog) = (options, settings, logger, accessLog)
    }

    /// Serves until the task is cancelled. After that, clients are still accepted for `settings.drainTime`, and answers that are
    /// then under way have `settings.endingTime` to finish.
    ///
    /// - Parameters:
    ///   - metricsAddress: the only address that serves `/metrics`; nil to serve it on `address` with the other paths.
    ///   - started: called with the two addresses as soon as the server listens.
    /// - Throws: `Failure` if the server can't listen on an address.
    public func run(
        on address: ListeningAddress, metricsOn metricsAddress: ListeningAddress? = nil,
        _ started: @Sendable (ListeningAddress, _ metrics: ListeningAddress?) -> Void
    ) async throws {
        var settings = settings
        let room = OpenFiles.roomForConnections()
        if room < settings.connections {
            logger.notice("clients may hold \(room) connections, because the process may open no more files")
            settings.connections = room
        }
        if let folder = TemporaryFile.folderInMemory {
            logger.notice(
                """
                answers that wait for slow clients take memory, because \(folder) is in memory; \
                set TMPDIR to a folder on a disk
                """)
        }
        let sessions = Sessions(options, settings, logger: logger)
        let responder = Responder(
            sessions: sessions, settings: settings, logger: logger, accessLog: accessLog)
        let connections = try await Connections(
            address, responder, metricsAddress == nil ? .everything : .clients, limit: settings.connections)
        // Monitoring can have a separate address, so that a crowd of clients cannot delay it.
        let monitoring: Connections?
        do {
            monitoring =
                if let metricsAddress {
                    try await Connections(metricsAddress, responder, .monitoring, limit: 100)
                } else { nil }
        } catch {
            try await connections.close()
            throw error
        }
        started(connections.address, monitoring?.address)
        // This task is not a child of the current task. After a cancellation, the listeners have to close first and the sessions
        // last.
        let work = Task {
            defer { responder.live.close() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<settings.sessions { group.addTask { await sessions.keepOne() } }
                group.addTask {
                    do {
                        // The follower also reports the state at each poll, because there is no notification of a settled
                        // document that changes no event.
                        let follower = Follower(
                            options, view: responder.live, name: nil, logger: logger)
                        try await follower.run(
                            persistently: true,
                            told: {
                                responder.board.show($0)
                                responder.live.trim()
                            }, lost: { sessions.invalidateConnections() },
                            away: { responder.live.tellOfOutage() })
                    } catch is CancellationError {}
                }
                defer { group.cancelAll() }
                // Monitoring is served until the connections of all clients have ended.
                if let monitoring { group.addTask { try await monitoring.serve() } }
                try await connections.serve()
                monitoring?.end()
                accessLog?.finish()
            }
        }
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            responder.phase = .draining
            let end: @Sendable () -> Void = {
                responder.phase = .closing
                connections.end()
                responder.live.end()
            }
            let drainTime = responder.settings.drainTime
            guard drainTime > .zero else { return end() }
            logger.notice("draining for \(drainTime)")
            MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(drainTime), end)
        }
    }
}

/// The newest state of the catalogue that this process has read.
final class StateBoard: Sendable {
    private let newest = Mutex<(state: CatalogueState, at: ContinuousClock.Instant)?>(nil)

    func show(_ state: CatalogueState) {
        newest.withLock { $0 = (state, .now) }
    }

    var state: CatalogueState? { newest.withLock { $0?.state } }
    var age: Duration? { newest.withLock { $0.map { .now - $0.at } } }
}
