import Glibc

/// An IP address. IPv4 addresses are kept as IPv4-mapped IPv6 addresses (RFC 4291, 2.5.5.2).
struct ClientAddress: Sendable, Hashable, CustomStringConvertible {
    private var bits: UInt128

    private static let version4: UInt128 = 0xFFFF_0000_0000
    static let loopback = ClientAddress("127.0.0.1")!

    /// - Parameter text: an address without a port.
    init?(_ text: some StringProtocol) {
        var (four, six) = (in_addr(), in6_addr())
        let text = String(text)
        if inet_pton(AF_INET, text, &four) == 1 {
            bits = Self.version4 | UInt128(UInt32(bigEndian: four.s_addr))
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bits = withUnsafeBytes(of: &six) { bytes in
                bytes.reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
            }
        } else {
            return nil
        }
    }

    var isVersion4: Bool { bits & ~0xFFFF_FFFF == Self.version4 }
    /// Whether this is 127.0.0.1 or ::1.
    var isLoopback: Bool { self == .loopback || bits == 1 }
    /// The address whose limits apply. An IPv6 client has at least a network of 64 bits, so limits apply to the whole network.
    var rateLimitKey: ClientAddress { isVersion4 ? self : prefix(64) }

    /// The first `count` of the 128 bits, followed by zeros.
    func prefix(_ count: Int) -> ClientAddress {
        var prefix = self
        prefix.bits &= ~(UInt128.max >> count)
        return prefix
    }

    var description: String {
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
