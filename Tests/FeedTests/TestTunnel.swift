import Foundation
import Glibc
import Synchronization

/// A proxy on loopback that knows only CONNECT. All its tunnels lead to one server.
final class TestTunnel: Sendable {
    let port: Int
    private let listener: Int32
    private let server: Int
    private let answer: String
    private let heads = Mutex<[String]>([])

    /// The heads of the requests, up to the empty line.
    var requests: [String] { heads.withLock { $0 } }

    /// - Parameter server: the server's port on loopback.
    init(to server: Int, answering answer: String = "HTTP/1.1 200 Connected\r\n\r\n") {
        self.server = server
        self.answer = answer
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = Self.withAddress(port: 0) { address, size in
            _ = bind(listener, address, size)
            getsockname(listener, address, &size)
        }
        listen(listener, 16)
        self.listener = listener
        Self.detach { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Self.detach { [self] in relay(client) }
            }
        }
    }

    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func relay(_ client: Int32) {
        var head = ""
        var byte: UInt8 = 0
        while !head.hasSuffix("\r\n\r\n"), read(client, &byte, 1) == 1 {
            head.append(Character(UnicodeScalar(byte)))
        }
        heads.withLock { $0.append(head) }
        _ = answer.withCString { send(client, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        _ = Self.withAddress(port: server) { address, size in connect(upstream, address, size) }
        Self.detach { Self.pump(from: upstream, to: client) }
        Self.pump(from: client, to: upstream)
    }

    private static func pump(from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(source, &buffer, buffer.count), count > 0 {
            guard send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(target, Int32(SHUT_RDWR))
    }

    private static func withAddress(
        port: Int, _ use: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Void
    ) -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { use($0, &size) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func detach(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread(body) }
}
