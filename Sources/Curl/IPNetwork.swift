/// The IP addresses with the same first bits. A network of IPv6 addresses contains no IPv4 addresses, not even `::/0`.
package struct IPNetwork: Sendable {
    private let prefix: IPAddress
    private let bits: Int

    /// - Parameter text: an address or a network, such as `192.0.2.1` or `10.0.0.0/8`.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(first) else { return nil }
        let most = first.contains(":") ? 128 : 32
        guard let length = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(length) else {
            return nil
        }
        bits = 128 - most + length
        prefix = address.prefix(bits)
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.isVersion4 == prefix.isVersion4 && address.prefix(bits) == prefix
    }
}
