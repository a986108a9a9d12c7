import Feed
import Logging
import PostgreSQL
import Synchronization

/// A few connections to the database, which the requests share.
///
/// Requests wait in line for one. The line is bounded: whoever comes when it is full, or while the database is away, is
/// refused at once. Lost connections are opened again for as long as it takes.
final class Sessions: Sendable {
    private let options: ConnectionOptions
    private let lineLimit: Int
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var idle: [Connection] = []
        /// Those who wait, the first one first.
        var line: [(id: Int, continuation: CheckedContinuation<Connection, any Error>)] = []
        /// What ends the life of each connection that is open.
        var keepers: [ObjectIdentifier: CheckedContinuation<Void, any Error>] = [:]
        var lastID = 0
        /// Why the last attempt to connect failed; nil after a success.
        var failure: String?
    }

    init(_ options: ConnectionOptions, lineLimit: Int, logger: Logger) {
        (self.options, self.lineLimit, self.logger) = (options, lineLimit, logger)
    }

    struct Usage {
        let open: Int
        let used: Int
        let waiting: Int
    }

    var usage: Usage {
        state.withLock {
            Usage(open: $0.keepers.count, used: $0.keepers.count - $0.idle.count, waiting: $0.line.count)
        }
    }

    /// Runs `body` with a connection that nobody else uses meanwhile.
    ///
    /// - Throws: `Reply` 503 if there is no room or no database; `CancellationError`; what `body` throws.
    func use<Result>(_ body: (Connection) async throws -> Result) async throws -> Result {
        let connection = try await take()
        do {
            let result = try await body(connection)
            giveBack(connection)
            return result
        } catch {
            let isLost = await connection.isClosed
            giveBack(connection, lostBy: isLost ? error : nil)
            throw error
        }
    }

    // MARK: The line

    private func take() async throws -> Connection {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Connection, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let connection = state.idle.popLast() { return .success(connection) }
                    if state.keepers.isEmpty, state.failure != nil {
                        return .failure(Reply.unavailable("The database is not available."))
                    }
                    if state.line.count >= lineLimit {
                        return .failure(Reply.unavailable("Too many requests are waiting."))
                    }
                    state.line.append((id, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.line.firstIndex { $0.id == id }.map { state.line.remove(at: $0).continuation }
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    private func giveBack(_ connection: Connection, lostBy error: (any Error)? = nil) {
        if let error {
            state.withLock { $0.keepers.removeValue(forKey: ObjectIdentifier(connection)) }?.resume(
                throwing: error)
        } else {
            offer(connection)
        }
    }

    private func offer(_ connection: Connection) {
        let next = state.withLock { state -> CheckedContinuation<Connection, any Error>? in
            // The keeper is gone when the server is being stopped.
            guard state.keepers[ObjectIdentifier(connection)] != nil else { return nil }
            if state.line.isEmpty {
                state.idle.append(connection)
                return nil
            }
            return state.line.removeFirst().continuation
        }
        next?.resume(returning: connection)
    }

    // MARK: The connections

    /// Keeps one connection open until the task is cancelled.
    func keepOne() async {
        var backoff = Backoff(from: .milliseconds(250), to: .seconds(10))
        while !Task.isCancelled {
            var hasConnected = false
            do {
                try await Connection.with(options, logger: logger) { connection in
                    backoff.reset()
                    hasConnected = true
                    try await lend(connection)
                }
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("\(hasConnected ? "a session was lost" : "no session"): \(error)")
                // It was lost by use, so that the next attempt is no flood.
                if hasConnected { continue }
                noteFailure("\(error)")
                do { try await Task.sleep(for: backoff.next()) } catch { return }
            }
        }
    }

    /// Lends a connection to whoever needs one, until it is lost.
    private func lend(_ connection: Connection) async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isCancelled = state.withLock { state in
                    state.failure = nil
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

    /// Without any connection, those in line need not wait for the next attempt.
    private func noteFailure(_ failure: String) {
        let refused = state.withLock { state in
            state.failure = failure
            guard state.keepers.isEmpty else { return [] as [CheckedContinuation<Connection, any Error>] }
            defer { state.line = [] }
            return state.line.map(\.continuation)
        }
        for continuation in refused {
            continuation.resume(throwing: Reply.unavailable("The database is not available."))
        }
    }
}
