import Foundation
import Glibc

/// A Unix socket that accepts connections and never answers.
package final class ListeningSocket: Sendable {
    private let descriptor: Int32

    package init(_ path: String) throws {
        descriptor = try unixSocket(at: path, bind)
        guard listen(descriptor, 16) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    /// Whether a client has connected, and waits.
    package var hasClient: Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, 0) > 0
    }
}

/// Makes a Unix socket, and calls `use` (`bind` or `connect`) with the socket and the address of `path`.
func unixSocket(
    at path: String, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            use(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    guard descriptor >= 0, result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    return descriptor
}
