/// A port on loopback that refuses every connection for as long as this lives: it is bound, so that nobody else gets it,
/// and nobody listens there.
///
/// A port that a server has just closed would not do: another server may get it.
public final class RefusingPort: Sendable {
    private let socket: LoopbackSocket
    public var number: Int { socket.port }

    public init() throws {
        socket = try .bound(queue: nil)
    }

    deinit { socket.close() }
}
