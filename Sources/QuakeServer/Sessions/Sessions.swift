import Feed
import Logging
import PostgreSQL
import QuakeStore
import Synchronization

/// A pool of a few database connections that all requests share.
///
/// Each kind of work (`Lane`) has a queue in which its requests wait for a connection. The client addresses in a queue are served
/// in turn. The queue is bounded, except for patient requests and the process's own queries. If the queue is full and an address
/// has at least two more waiting requests than the new request's address, the last request of the address with the most waiting
/// requests is refused. Otherwise the new request is refused. While the database is unreachable, requests are refused at once. A
/// lost connection is reopened, with any number of attempts.
final class Sessions: Sendable {
    private let options: ConnectionOptions
    private let settings: ServerSettings
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var idle: [Connection] = []
        var use = LaneUse()
        var lines: [Lane: FairQueue<ClientAddress?, Waiting>] = [:]
        /// For each open connection, a continuation. Resuming the continuation closes the connection.
        var keepers: [ObjectIdentifier: CheckedContinuation<Void, any Error>] = [:]
        var lastID = 0
        /// The connections in use that will be closed when they are returned.
        var invalid: Set<ObjectIdentifier> = []
        /// Whether the last attempt to connect failed.
        var isUnreachable = false
        var repeated = RepeatedFailure()

        func waiting(in lane: Lane, isPatient: Bool = false) -> [ClientAddress?: Int] {
            lines[lane]?.counts { $0.isPatient == isPatient } ?? [:]
        }

        /// Makes room in a full queue for a request of `address`: removes the last request of the address with the most requests.
        /// If that address is less than two requests ahead of `address`, removes nothing and returns nil.
        mutating func giveWay(
            in lane: Lane, to address: ClientAddress?
        ) -> CheckedContinuation<Connection, any Error>? {
            let waiting = waiting(in: lane)
            guard let most = waiting.max(by: { $0.value < $1.value }),
                most.value > waiting[address, default: 0] + 1
            else { return nil }
            return lines[lane]?.removeLast(of: most.key) { !$0.isPatient }?.continuation
        }

        mutating func next() -> (
            continuation: CheckedContinuation<Connection, any Error>, connection: Connection
        )? {
            guard !idle.isEmpty else { return nil }
            for lane in use.order where use.admits(lane, of: keepers.count) {
                guard let next = lines[lane]?.popFirst(), let connection = idle.popLast() else { continue }
                use.begin(lane)
                return (next.continuation, connection)
            }
            return nil
        }
    }

    private struct Waiting {
        let id: Int
        let isPatient: Bool
        let continuation: CheckedContinuation<Connection, any Error>
    }

    init(_ options: ConnectionOptions, _ settings: ServerSettings, logger: Logger) {
        (self.options, self.settings, self.logger) = (options, settings, logger)
    }

    struct Usage {
        let open: Int
        let used: Int
        let waiting: Int
        let waitingStreams: Int
    }

    var usage: Usage {
        state.withLock { state in
            func count(isPatient: Bool) -> Int {
                state.lines.keys.reduce(0) {
                    $0 + state.waiting(in: $1, isPatient: isPatient).values.reduce(0, +)
                }
            }
            return Usage(
                open: state.keepers.count, used: state.keepers.count - state.idle.count,
                waiting: count(isPatient: false), waitingStreams: count(isPatient: true))
        }
    }

    /// Runs `body` with exclusive use of a connection.
    ///
    /// - Parameters:
    ///   - address: the client's address; nil for clients without limits per address.
    ///   - isPatient: whether to wait even if the queue is full.
    /// - Throws: `Refusal` 503 if the queue is full or the database is unreachable; `CancellationError`; the errors of `body`.
    func use<Result>(
        _ lane: Lane, for address: ClientAddress? = nil, isPatient: Bool = false,
        _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        let connection = try await take(lane, address, isPatient)
        do {
            let result = try await body(connection)
            giveBack(connection, from: lane)
            return result
        } catch {
            let isLost = await connection.isClosed
            giveBack(connection, from: lane, lostBy: isLost ? error : nil)
            throw error
        }
    }

    /// Runs `body` like `use`. If the database connection is lost before any of the answer was written, repeats `body` with another
    /// connection, up to `settings.sessions` times. After a restart of the database server, each session notices only at its next
    /// statement that its connection is lost.
    func useAnother<Result>(
        _ lane: Lane, for address: ClientAddress?, isPatient: Bool = false,
        unless hasWritten: @autoclosure () -> Bool, _ body: (Connection) async throws -> Result
    ) async throws -> Result {
        for _ in 0..<settings.sessions {
            do {
                return try await use(lane, for: address, isPatient: isPatient, body)
            } catch let error as PostgresError where error.connectionLost && !hasWritten() {
                continue
            }
        }
        return try await use(lane, for: address, isPatient: isPatient, body)
    }

    /// A reading in the server's own session. Concurrent callers share it, so one of them that leaves cannot cancel it. If the
    /// database does not answer in time, the session is closed.
    func sharedReading<Value: Sendable>(
        within limit: Duration, _ read: @escaping @Sendable (isolated Connection) async throws -> Value
    ) -> SharedReading<Value> {
        SharedReading {
            try await self.use(.own) { connection in
                try await connection.run { connection in
                    try await connection.expectingAnswer(within: limit) { try await read(connection) }
                }
            }
        }
    }

    // MARK: The queues

    private func take(_ lane: Lane, _ address: ClientAddress?, _ isPatient: Bool) async throws -> Connection {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                var displaced: CheckedContinuation<Connection, any Error>?
                let outcome: Result<Connection, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.use.admits(lane, of: state.keepers.count), let connection = state.idle.popLast()
                    {
                        state.use.begin(lane)
                        return .success(connection)
                    }
                    if state.keepers.isEmpty, state.isUnreachable {
                        return .failure(Refusal.unavailable("The database is not available."))
                    }
                    if !isPatient, lane != .own,
                        state.waiting(in: lane).values.reduce(0, +) >= settings.waitingRequests
                    {
                        displaced = state.giveWay(in: lane, to: address)
                        if displaced == nil { return .failure(Self.tooMany) }
                    }
                    state.lines[lane, default: FairQueue()].append(
                        Waiting(id: id, isPatient: isPatient, continuation: continuation), of: address)
                    return nil
                }
                displaced?.resume(throwing: Self.tooMany)
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.lines[lane]?.removeLast { $0.id == id }?.continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    private static var tooMany: Refusal { .unavailable("Too many requests are waiting.") }

    private func giveBack(_ connection: Connection, from lane: Lane, lostBy error: (any Error)? = nil) {
        let id = ObjectIdentifier(connection)
        let isInvalid = state.withLock { state in
            state.use.end(lane)
            return state.invalid.remove(id) != nil
        }
        guard let error = error ?? (isInvalid ? Invalidated() : nil) else { return offer(connection) }
        state.withLock { $0.keepers.removeValue(forKey: id) }?.resume(throwing: error)
        if !isInvalid { invalidateConnections() }
        passOn()
    }

    /// Closes all connections; those in use are closed when they are returned. After a lost connection, the database server may
    /// have restarted, or another server may be the leader by now. If the other connections stayed open, each request would have
    /// to wait until its connection failed.
    func invalidateConnections() {
        let idle = state.withLock { state in
            let idle = state.idle.compactMap { state.keepers.removeValue(forKey: ObjectIdentifier($0)) }
            state.idle = []
            state.invalid = Set(state.keepers.keys)
            return idle
        }
        for keeper in idle { keeper.resume(throwing: Invalidated()) }
    }

    private struct Invalidated: Error {}

    private func offer(_ connection: Connection) {
        state.withLock { state in
            // The connection is being closed if its continuation is missing.
            if state.keepers[ObjectIdentifier(connection)] != nil { state.idle.append(connection) }
        }
        passOn()
    }

    private func passOn() {
        while let (continuation, connection) = state.withLock({ $0.next() }) {
            continuation.resume(returning: connection)
        }
    }

    // MARK: The connections

    func keepOne() async {
        var backoff = Backoff.reconnecting
        while !Task.isCancelled {
            var hasConnected = false
            do {
                try await Connection.with(options, logger: logger) { connection in
                    backoff.reset()
                    hasConnected = true
                    // Behind a pooler, each transaction may run in another session, so settings of a session would not last.
                    if try await connection.ownsSession() {
                        try await CatalogueState.setUp(connection, limit: settings.shortTime)
                    }
                    try await lend(connection)
                }
            } catch {
                guard !Task.isCancelled else { return }
                if error is Invalidated { continue }
                let words = "\(hasConnected ? "a session was lost" : "cannot open a session"): \(error)"
                if state.withLock({ $0.repeated.isToBeSaid(words) }) { logger.warning("\(words)") }
                // The connection had worked until now, so reconnecting at once does not flood the server with attempts.
                if hasConnected { continue }
                noteFailure()
                do { try await Task.sleep(for: backoff.next()) } catch { return }
            }
        }
    }

    private func lend(_ connection: Connection) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    state.isUnreachable = false
                    state.repeated.reset()
                    if !Task.isCancelled { state.keepers[ObjectIdentifier(connection)] = continuation }
                    return Task.isCancelled
                }
                if isCancelled { return continuation.resume(throwing: CancellationError()) }
                offer(connection)
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.idle.removeAll { $0 === connection }
                return state.keepers.removeValue(forKey: ObjectIdentifier(connection))
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    /// Notes that connecting failed. If no connection is open, all waiting requests are refused at once.
    private func noteFailure() {
        let refused = state.withLock { state in
            state.isUnreachable = true
            guard state.keepers.isEmpty else { return [] as [Waiting] }
            return Lane.allCases.flatMap { state.lines[$0]?.removeAll() ?? [] }
        }
        for waiting in refused {
            waiting.continuation.resume(throwing: Refusal.unavailable("The database is not available."))
        }
    }
}
