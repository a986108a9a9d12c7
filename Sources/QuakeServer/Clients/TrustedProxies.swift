import Curl
import HTTPTypes

/// The proxies that are trusted to name their clients in `X-Forwarded-For`. The field is ignored if any other peer sends it.
public struct TrustedProxies: Sendable {
    private let networks: [Network]

    package typealias Network = IPNetwork

    package init(_ networks: [Network] = []) { self.networks = networks }

    func contains(_ address: ClientAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// The address of the client that sent a request. If the peer is a trusted proxy, this is the last address in
    /// `X-Forwarded-For` that does not belong to a trusted proxy; otherwise it is the peer.
    ///
    /// - Parameter peer: the other end of the connection.
    func client(behind peer: ClientAddress, _ fields: HTTPFields) -> ClientAddress {
        var client = peer
        let named = fields[values: .xForwardedFor].joined(separator: ",")
            .split(separator: ",", omittingEmptySubsequences: false)
        for part in named.reversed() {
            guard contains(client), let next = Self.address(in: part) else { break }
            client = next
        }
        return client
    }

    func isIgnored(_ peer: ClientAddress, _ fields: HTTPFields) -> Bool {
        fields.contains(.xForwardedFor) && !contains(peer)
    }

    /// The address whose limits a request counts against; nil for this machine, and for a trusted proxy that names no client.
    func rateLimitKey(behind peer: ClientAddress, _ fields: HTTPFields) -> ClientAddress? {
        if contains(peer) ? !fields.contains(.xForwardedFor) : peer.isLoopback { return nil }
        return client(behind: peer, fields).rateLimitKey
    }

    /// Reads the address from `192.0.2.60`, `192.0.2.60:4711` or `[2001:db8::1]:4711`.
    private static func address(in text: Substring) -> ClientAddress? {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        if text.first == "[" { return ClientAddress(text.dropFirst().prefix { $0 != "]" }) }
        // An IPv4 address with a port contains exactly one colon.
        let isWithPort = text.count { $0 == ":" } == 1
        return ClientAddress(isWithPort ? text.prefix { $0 != ":" } : text)
    }
}

extension HTTPField.Name {
    fileprivate static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
}
