import Foundation
import Synchronization
import TestSupport

/// A proxy on loopback that supports only CONNECT. All its tunnels end at the same server.
final class TestTunnel: Sendable {
    private let listener: LoopbackSocket
    private let heads = Mutex<[String]>([])

    var port: Int { listener.port }
    /// The heads of the requests, with their empty lines.
    var requests: [String] { heads.withLock { $0 } }

    /// - Parameter server: The server's port on loopback.
    init(to server: Int, answering answer: String = "HTTP/1.1 200 Connected\r\n\r\n") throws {
        listener = try .bound()
        listener.accepting { [self] client in
            var head = ""
            var byte: [UInt8] = [0]
            while !head.hasSuffix("\r\n\r\n"), byte.withUnsafeMutableBytes(client.read) == 1 {
                head.append(Character(UnicodeScalar(byte[0])))
            }
            heads.withLock { $0.append(head) }
            _ = Array(answer.utf8).withUnsafeBytes(client.write)
            let upstream = LoopbackSocket()
            upstream.connect(to: server)
            Thread.detachNewThread { Self.pump(from: upstream, to: client) }
            Self.pump(from: client, to: upstream)
        }
    }

    func close() { listener.shutDown() }

    private static func pump(from source: LoopbackSocket, to target: LoopbackSocket) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = buffer.withUnsafeMutableBytes(source.read), count > 0 {
            guard buffer.withUnsafeBytes({ target.write(.init(rebasing: $0.prefix(count))) }) else { break }
        }
        target.shutDown()
    }
}
