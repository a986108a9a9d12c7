import CPostgreSQL
import Dispatch
import Glibc
import Synchronization

// A statement may take hours, so silence alone proves nothing, and a machine's kernel answers even if the server on it is frozen.
// But a server that works takes a new connection, however long its statements take.
extension Connection {
    /// How long a server may be silent in mid-statement before it is probed.
    static let silenceLimit: Duration = .seconds(2)
    /// How long it may take to answer the probe.
    static let pingLimit: Duration = .seconds(5)

    struct Silence {
        let start = ContinuousClock.now
        fileprivate var ping: Ping?
    }

    /// Waits a moment for the server, and reads what it sends. If it has been silent for long, it is probed over another
    /// connection.
    ///
    /// - Parameter events: what is waited for, as for `waitForSocket`.
    /// - Throws: `PostgresError` with `connectionLost` if it does not answer.
    func waitForServer(_ operation: String, _ handle: OpaquePointer, for events: Int32 = POLLIN) throws {
        guard waitForSocket(PQsocket(handle), for: events) else { return try watchSilence(operation) }
        silence = nil
        guard PQconsumeInput(handle) == 1 else { throw failureOfLibpq(operation, handle) }
    }

    private func watchSilence(_ operation: String) throws {
        switch waitLimit {
        case .untilCancelled, .limited, .cleanup(nil, _): break
        // These end soon.
        case .cancelling, .cleanup: return
        }
        let silence = self.silence ?? Silence()
        self.silence = silence
        guard let ping = silence.ping else {
            if .now - silence.start >= Self.silenceLimit {
                self.silence?.ping = Ping(server, within: Self.pingLimit)
            }
            return
        }
        switch ping.isAnswered {
        case nil: break
        case true?: self.silence = nil
        // Refused at once, which may be a moment's trouble.
        case false? where .now - ping.start < Self.pingLimit:
            self.silence?.ping = Ping(server, within: Self.pingLimit, since: ping.start)
        case false?:
            let message = "the server is silent, and takes no new connection within \(Self.pingLimit)"
            giveUp(message)
            throw PostgresError(operation: operation, message: message, connectionLost: true)
        }
    }
}

/// Asks whether a server takes connections, without logging in.
private final class Ping: Sendable {
    let start: ContinuousClock.Instant
    private let answer = Mutex<Bool?>(nil)

    var isAnswered: Bool? { answer.withLock { $0 } }

    /// Asks in the background, because it blocks.
    init(_ keywords: [String: String], within limit: Duration, since start: ContinuousClock.Instant = .now) {
        self.start = start
        var keywords = keywords
        keywords["connect_timeout"] = "\(limit.components.seconds)"
        keywords["target_session_attrs"] = "any"
        DispatchQueue(label: "postgresql.ping").async { [keywords] in
            let status = withCStrings(of: keywords) { PQpingParams($0, $1, 0) }
            // A server that starts or stops refuses all connections for a while, and ends its own.
            self.answer.withLock { $0 = status != PQPING_NO_RESPONSE }
        }
    }
}
