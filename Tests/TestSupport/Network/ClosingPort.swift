import Synchronization

/// A port on loopback that takes every connection, counts it and closes it: a database that is away, whose clients' attempts
/// are seen.
public final class ClosingPort: Sendable {
    private let socket: LoopbackSocket
    private let accepted = Mutex(0)
    public let number: Int

    public init() throws {
        socket = try .bound()
        number = socket.port
        socket.accepting { [weak self] client in
            self?.accepted.withLock { $0 += 1 }
            // Closed with something unread, a connection would be reset, and the client would say one or the other.
            var request = [UInt8](repeating: 0, count: 4096)
            _ = request.withUnsafeMutableBytes { client.read($0) }
            client.close()
        }
    }

    deinit { socket.shutDown() }

    /// How many connections there were.
    public var attempts: Int { accepted.withLock { $0 } }

    /// The URL of a database there.
    public var url: String {
        "postgresql://nobody@127.0.0.1:\(number)/quakes?sslmode=disable&gssencmode=disable"
    }
}
