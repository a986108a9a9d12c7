import HTTPTypes

/// The proxies whose word about where a request comes from counts.
public struct TrustedProxies: Sendable {
    private let networks: [Network]

    /// An address, or a network of them.
    public struct Network: Sendable {
        private let prefix: ClientAddress
        private let bits: Int

        /// - Parameter text: such as `192.0.2.1` or `10.0.0.0/8`.
        public init?(_ text: String) {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard let first = parts.first, parts.count <= 2, let address = ClientAddress(first) else {
                return nil
            }
            let most = address.isVersion4 ? 32 : 128
            guard let length = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(length) else {
                return nil
            }
            bits = 128 - most + length
            prefix = address.prefix(bits)
        }

        func contains(_ address: ClientAddress) -> Bool { address.prefix(bits) == prefix }
    }

    public init(_ networks: [Network] = []) { self.networks = networks }

    func contains(_ address: ClientAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// Where a request comes from: the last address that a trusted proxy names and that is not one of them.
    ///
    /// A proxy adds to one of the two fields, and lets clients write the other one as they like. If the two disagree, neither
    /// counts.
    ///
    /// - Parameter peer: the other end of the connection.
    func client(behind peer: ClientAddress, _ fields: HTTPFields) -> ClientAddress {
        guard contains(peer) else { return peer }
        let named = [HTTPField.Name.xForwardedFor, .forwarded].compactMap { name -> ClientAddress? in
            let values = fields[values: name]
            guard !values.isEmpty else { return nil }
            var client = peer
            for part in values.joined(separator: ",").split(separator: ",", omittingEmptySubsequences: false)
                .reversed()
            {
                guard contains(client), let next = Self.address(in: part, name) else { break }
                client = next
            }
            return client
        }
        guard let client = named.first, named.allSatisfy({ $0 == client }) else { return peer }
        return client
    }

    /// For whom a request is counted; nil for this machine, and for a proxy that names nobody.
    func customer(behind peer: ClientAddress, _ fields: HTTPFields) -> ClientAddress? {
        let isNamed = fields.contains(.xForwardedFor) || fields.contains(.forwarded)
        if contains(peer) ? !isNamed : peer.isLoopback { return nil }
        return client(behind: peer, fields).customer
    }

    /// The address in `192.0.2.60`, `[2001:db8::1]:4711`, or `for="[2001:db8::1]";proto=https` (RFC 7239).
    private static func address(in text: Substring, _ name: HTTPField.Name) -> ClientAddress? {
        var text = text
        if name == .forwarded {
            let pair = text.split(separator: ";").first { pair in
                pair.drop { $0 == " " || $0 == "\t" }.prefix(4).lowercased() == "for="
            }
            guard let pair, let sign = pair.firstIndex(of: "=") else { return nil }
            text = pair[sign...].dropFirst()
        }
        func isLoose(_ character: Character) -> Bool { " \t\"".contains(character) }
        text = text.drop(while: isLoose)
        while let last = text.last, isLoose(last) { text.removeLast() }
        if text.first == "[" { return ClientAddress(text.dropFirst().prefix { $0 != "]" }) }
        // With a port behind it, an address of IPv4 has one colon.
        let isWithPort = text.count { $0 == ":" } == 1
        return ClientAddress(isWithPort ? text.prefix { $0 != ":" } : text)
    }
}

extension HTTPField.Name {
    fileprivate static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
    fileprivate static let forwarded = HTTPField.Name("Forwarded")!
}
