import HTTPTypes
import NIOHTTP1
import Synchronization

/// The client of one connection. When the client disconnects, the work for it is stopped.
final class Client: Sendable {
    /// The IP address of the other end of the connection; nil if the connection does not use IP.
    private let peer: ClientAddress?
    private let proxies: TrustedProxies
    /// Why the connection is refused; nil if it is accepted.
    let refusal: Refusal?
    /// The paths that are served on the address to which the client has connected.
    let scope: Responder.Scope
    private let state = Mutex(State())

    private struct State {
        var isGone = false
        var sent = 0
        var left: (@Sendable () -> Void)?
        var takesChunks = true
        var isStream = false
    }

    init(
        _ peer: ClientAddress?, behind proxies: TrustedProxies, refusal: Refusal?, scope: Responder.Scope
    ) {
        (self.peer, self.proxies, self.refusal, self.scope) = (peer, proxies, refusal, scope)
    }

    /// The IP address of the client that sent a request; `-` if the connection does not use IP and the client's address is
    /// unknown.
    func address(_ fields: HTTPFields) -> String {
        let address = proxies.client(behind: peer ?? .loopback, fields)
        return peer == nil && address == .loopback ? "-" : address.description
    }

    /// The address of the proxy at the other end of the connection, if the proxy names its clients but is not trusted; otherwise
    /// nil.
    func untrustedProxy(_ fields: HTTPFields) -> ClientAddress? {
        let peer = peer ?? .loopback
        return proxies.isIgnored(peer, fields) ? peer : nil
    }

    /// The address whose limits a request counts against; nil for clients without limits per address.
    func rateLimitKey(_ fields: HTTPFields) -> ClientAddress? {
        proxies.rateLimitKey(behind: peer ?? .loopback, fields)
    }

    func countSent(_ bytes: Int) { state.withLock { $0.sent += bytes } }

    func takeSent() -> Int {
        state.withLock { state in
            defer { state.sent = 0 }
            return state.sent
        }
    }

    func begin(_ head: HTTPRequestHead) {
        state.withLock {
            $0.isStream = false
            $0.takesChunks = (head.version.major, head.version.minor) >= (1, 1)
        }
    }

    /// Whether the current request is HTTP/1.1, so that the body of its answer may be sent in chunks. For older clients, the end
    /// of the connection is the end of the body.
    var takesChunks: Bool { state.withLock { $0.takesChunks } }

    var isStream: Bool {
        get { state.withLock { $0.isStream } }
        set { state.withLock { $0.isStream = newValue } }
    }

    /// Registers `left`, which stops the work for the client. `left` is called when the client disconnects, or at once if the
    /// client has already disconnected.
    func begin(_ left: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            state.left = left
            return state.isGone
        }
        if isGone { left() }
    }

    var isGone: Bool { state.withLock { $0.isGone } }

    func end() {
        state.withLock { $0.left = nil }
    }

    func leave() {
        let left = state.withLock { state in
            state.isGone = true
            return state.left.take()
        }
        left?()
    }
}
