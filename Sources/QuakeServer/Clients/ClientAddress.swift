import Curl

typealias ClientAddress = IPAddress

extension ClientAddress {
    static let loopback = ClientAddress("127.0.0.1")!

    /// Whether this is 127.0.0.1 or ::1.
    var isLoopback: Bool { self == .loopback || self == ClientAddress("::1") }
    /// The address whose limits apply. An IPv6 client can use all addresses of a /64 network, so the limits apply to the whole
    /// network.
    var rateLimitKey: ClientAddress { isVersion4 ? self : prefix(64) }
}
