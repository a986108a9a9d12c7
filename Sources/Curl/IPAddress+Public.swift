extension IPAddress {
    /// Whether the address belongs to the public internet, and not to this machine, a private network, a cloud's metadata service
    /// or a reserved range (IANA's special-purpose registries, RFC 6890).
    package var isPublic: Bool {
        if Self.translated.contains(self) {
            return IPAddress(version4: UInt32(truncatingIfNeeded: bits)).isPublic
        }
        return (isVersion4 || Self.globalUnicast.contains(self))
            && !Self.reserved.contains { $0.contains(self) }
    }

    /// IPv4 addresses that are translated to IPv6 (RFC 6052).
    private static let translated = IPNetwork("64:ff9b::/96")!
    private static let globalUnicast = IPNetwork("2000::/3")!

    /// The IPv6 networks are those of Teredo and ORCHID, of 6to4, and for documentation.
    private static let reserved = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
        "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
        "2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20",
    ].map { IPNetwork($0)! }
}
