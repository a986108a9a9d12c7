/// A port on loopback that refuses every connection during this object's life: the port is bound, so no other process gets it,
/// but nothing listens there.
///
/// The port of a server that has just closed is not suitable, because another server might get that port.
public final class RefusingPort: Sendable {
    private let socket: LoopbackSocket
    public var number: Int { socket.port }

    public init() throws {
        socket = try .bound(queue: nil)
    }

    deinit { socket.close() }
}
