import Glibc

/// Whether an address belongs to the public internet, and not to this machine, a private network, a cloud's metadata service or a
/// reserved range (IANA's special-purpose registries, RFC 6890).
///
/// - Parameter address: a `sockaddr_in` or `sockaddr_in6`.
package func isPublicAddress(_ address: UnsafeRawPointer) -> Bool {
    switch Int32(address.load(as: sockaddr.self).sa_family) {
    case AF_INET:
        return isPublic(v4: UInt32(bigEndian: address.load(as: sockaddr_in.self).sin_addr.s_addr))
    case AF_INET6:
        let bytes = address.load(as: sockaddr_in6.self).sin6_addr
        return isPublic(v6: UInt128(bigEndian: unsafeBitCast(bytes, to: UInt128.self)))
    default: return false
    }
}

private func isPublic(v4 address: UInt32) -> Bool {
    let reserved: [(UInt32, Int)] = [
        (0x0000_0000, 8), (0x0a00_0000, 8), (0x6440_0000, 10), (0x7f00_0000, 8), (0xa9fe_0000, 16),
        (0xac10_0000, 12), (0xc000_0000, 24), (0xc000_0200, 24), (0xc058_6300, 24), (0xc0a8_0000, 16),
        (0xc612_0000, 15), (0xc633_6400, 24), (0xcb00_7100, 24), (0xe000_0000, 3),
    ]
    return !reserved.contains { (address ^ $0) >> UInt32(32 - $1) == 0 }
}

private func isPublic(v6 address: UInt128) -> Bool {
    let embedded = UInt32(truncatingIfNeeded: address)
    // IPv4 addresses within IPv6 are mapped (::ffff:0:0/96) or translated (64:ff9b::/96, RFC 6052).
    if address >> 32 == 0xffff || address >> 32 == 0x64_ff9b << 64 { return isPublic(v4: embedded) }
    // Only global unicast addresses (2000::/3) are public, except the ranges for documentation, Teredo, ORCHID and 6to4.
    guard address >> 125 == 1 else { return false }
    let isSpecial =
        address >> 105 == 0x2001_0000 >> 9 || address >> 96 == 0x2001_0db8 || address >> 112 == 0x2002
        || address >> 108 == 0x3fff_0
    return !isSpecial
}
