import Glibc

/// An IP address. IPv4 addresses are kept as IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2).
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    private(set) var bits: UInt128

    private static let version4: UInt128 = 0xFFFF_0000_0000

    /// - Parameter text: an address without a port.
    package init?(_ text: some StringProtocol) {
        var (four, six) = (in_addr(), in6_addr())
        let text = String(text)
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(four)
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            self.init(six)
        } else {
            return nil
        }
    }

    /// nil if the socket is of another kind.
    ///
    /// - Parameter address: a `sockaddr_in` or `sockaddr_in6`.
    package init?(socketAddress address: UnsafeRawPointer) {
        switch Int32(address.load(as: sockaddr.self).sa_family) {
        case AF_INET: self.init(address.load(as: sockaddr_in.self).sin_addr)
        case AF_INET6: self.init(address.load(as: sockaddr_in6.self).sin6_addr)
        default: return nil
        }
    }

    private init(_ address: in_addr) { self.init(version4: UInt32(bigEndian: address.s_addr)) }

    private init(_ address: in6_addr) {
        bits = UInt128(bigEndian: unsafeBitCast(address, to: UInt128.self))
    }

    /// - Parameter bits: the 32 bits of an IPv4 address.
    init(version4 bits: UInt32) { self.bits = Self.version4 | UInt128(bits) }

    package var isVersion4: Bool { bits & ~0xFFFF_FFFF == Self.version4 }

    /// The first `count` of the 128 bits, followed by zeros.
    package func prefix(_ count: Int) -> IPAddress {
        var prefix = self
        prefix.bits &= ~(UInt128.max >> count)
        return prefix
    }

    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        if isVersion4 {
            var four = in_addr(s_addr: UInt32(truncatingIfNeeded: bits).bigEndian)
            inet_ntop(AF_INET, &four, &text, socklen_t(text.count))
        } else {
            var six = bits.bigEndian
            inet_ntop(AF_INET6, &six, &text, socklen_t(text.count))
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
