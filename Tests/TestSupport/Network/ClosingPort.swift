import Synchronization

/// A port on loopback that accepts every connection, counts it and closes it. Tests use it in place of a database that is down,
/// to count the attempts to connect.
public final class ClosingPort: Sendable {
    private let socket: LoopbackSocket
    private let accepted = Mutex(0)
    public let number: Int

    public init() throws {
        socket = try .bound()
        number = socket.port
        socket.accepting { [weak self] client in
            self?.accepted.withLock { $0 += 1 }
            // If the socket were closed with unread bytes, the connection would be reset, and the client's error would vary.
            var request = [UInt8](repeating: 0, count: 4096)
            _ = request.withUnsafeMutableBytes { client.read($0) }
            client.close()
        }
    }

    deinit { socket.shutDown() }

    /// How many connections were accepted.
    public var attempts: Int { accepted.withLock { $0 } }

    /// The URL of a database at this port.
    public var url: String {
        "postgresql://nobody@127.0.0.1:\(number)/quakes?sslmode=disable&gssencmode=disable"
    }
}
