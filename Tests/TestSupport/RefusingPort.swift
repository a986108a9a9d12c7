import Foundation
import Glibc

/// A port on loopback that refuses every connection for as long as this lives: it is bound, so that nobody else gets it,
/// and nobody listens there.
///
/// A port that a server has just closed would not do. Another server may get it; and a child that is forked at that
/// moment holds the listening socket until it becomes another program, takes callers until then, and resets them.
public final class RefusingPort: Sendable {
    public let number: Int
    private let descriptor: Int32

    public init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { [descriptor] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 ? getsockname(descriptor, address, &size) : -1
            }
        }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        number = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(descriptor) }
}
