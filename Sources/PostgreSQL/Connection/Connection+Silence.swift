import COpenSSL
import CPostgreSQL
import Dispatch
import Glibc
import Synchronization

// A statement may take hours, so silence alone proves nothing. Keepalives prove nothing either, because the kernel answers them
// even if the server process is frozen. But a working server accepts a new connection, even while it runs long statements.
extension Connection {
    /// How long a server may be silent in mid-statement before it is probed.
    static let silenceLimit: Duration = .seconds(2)
    /// How long the server may take to answer the probe.
    static let pingLimit: Duration = .seconds(5)

    struct Silence {
        let start = ContinuousClock.now
        fileprivate var ping: Ping?
    }

    /// Waits a moment for the server, and reads the bytes that it sends. If the server has been silent for `silenceLimit`, it is
    /// probed over another connection.
    ///
    /// - Parameter events: the events to wait for, as in `waitForSocket`.
    /// - Throws: `PostgresError` with `connectionLost` if the server does not answer the probe.
    func waitForServer(_ operation: String, _ handle: OpaquePointer, for events: Int32 = POLLIN) throws {
        guard waitForSocket(PQsocket(handle), for: events) else { return try watchSilence(operation) }
        silence = nil
        // A record of TLS has up to 16 KiB. If libpq has room for only a part of it, the rest stays in OpenSSL, where no poll sees it.
        repeat {
            guard PQconsumeInput(handle) == 1 else { throw failureOfLibpq(operation, handle) }
        } while PQsslStruct(handle, "OpenSSL").map { SSL_pending(OpaquePointer($0)) > 0 } ?? false
    }

    private func watchSilence(_ operation: String) throws {
        switch waitLimit {
        case .untilCancelled, .limited, .cleanup(nil, _): break
        // These waits already have a short time limit.
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
        // The probe failed early, which may be a short disturbance, so it is repeated.
        case false? where .now - ping.start < Self.pingLimit:
            self.silence?.ping = Ping(server, within: Self.pingLimit, since: ping.start)
        case false?:
            let message = "the server is silent and does not accept a new connection within \(Self.pingLimit)"
            giveUp(message)
            throw PostgresError(operation: operation, message: message, connectionLost: true)
        }
    }
}

/// Asks whether a server accepts connections, without logging in.
private final class Ping: Sendable {
    let start: ContinuousClock.Instant
    private let answer = Mutex<Bool?>(nil)

    var isAnswered: Bool? { answer.withLock { $0 } }

    /// Asks in the background, because PQpingParams blocks.
    init(_ keywords: [String: String], within limit: Duration, since start: ContinuousClock.Instant = .now) {
        self.start = start
        var keywords = keywords
        keywords["connect_timeout"] = "\(limit.components.seconds)"
        keywords["target_session_attrs"] = "any"
        DispatchQueue(label: "postgresql.ping").async { [keywords] in
            let status = withCStrings(of: keywords) { PQpingParams($0, $1, 0) }
            // Any response counts. A server that is starting or stopping refuses new connections, but it closes its existing
            // connections itself.
            self.answer.withLock { $0 = status != PQPING_NO_RESPONSE }
        }
    }
}
