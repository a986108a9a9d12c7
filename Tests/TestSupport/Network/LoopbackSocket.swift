import Foundation
import Glibc

/// A TCP socket on the loopback interface. Its calls block unless `nonBlocking` is true. Child processes do not inherit the
/// socket.
public struct LoopbackSocket: Sendable {
    public let descriptor: Int32

    public init(nonBlocking: Bool = false) {
        let flags = SOCK_CLOEXEC.rawValue | (nonBlocking ? SOCK_NONBLOCK.rawValue : 0)
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | flags), 0)
    }

    /// Makes a socket that connects from another address of this machine, such as 127.0.0.2.
    public init(from address: String) {
        self.init()
        var here = sockaddr_in()
        here.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, address, &here.sin_addr)
        withUnsafePointer(to: &here) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// Makes a socket that is bound to a free port. The socket also listens there, with a queue of length `queue`, unless `queue`
    /// is nil.
    public static func bound(queue: Int32? = 128) throws -> LoopbackSocket {
        let socket = LoopbackSocket()
        guard withAddress(port: 0, { bind(socket.descriptor, $0, $1) }) == 0,
            queue.map({ listen(socket.descriptor, $0) }) ?? 0 == 0
        else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return socket
    }

    /// Whether the port can be bound.
    static func isFree(_ port: Int) -> Bool {
        let socket = LoopbackSocket()
        defer { socket.close() }
        return withAddress(port: port) { bind(socket.descriptor, $0, $1) } == 0
    }

    public var port: Int {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    @discardableResult
    public func connect(to port: Int) -> Bool {
        Self.withAddress(port: port) { Glibc.connect(descriptor, $0, $1) } == 0
    }

    /// Calls `body` for each connection, on a separate thread, until the socket is shut down.
    public func accepting(_ body: @escaping @Sendable (LoopbackSocket) -> Void) {
        Thread.detachNewThread {
            while case let client = accept(descriptor, nil, nil), client >= 0 {
                _ = fcntl(client, F_SETFD, FD_CLOEXEC)
                Thread.detachNewThread { body(LoopbackSocket(descriptor: client)) }
            }
            close()
        }
    }

    public func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
    public func close() { Glibc.close(descriptor) }

    /// Closes the socket without lingering, so the connection is reset.
    public func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    /// Whether the other side closes the connection within the given time.
    public func isClosed(within milliseconds: Int32) -> Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        var byte: UInt8 = 0
        return poll(&ready, 1, milliseconds) > 0 && recv(descriptor, &byte, 1, Int32(MSG_PEEK)) <= 0
    }

    /// The number of bytes that have arrived, including unread bytes.
    public var bytesReceived: Int {
        // struct tcp_info of <linux/tcp.h>: tcpi_bytes_received.
        var information = [UInt64](repeating: 0, count: 32)
        var size = socklen_t(information.count * 8)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &information, &size)
        return Int(information[16])
    }

    public func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
    }

    /// All bytes until the other side closes the connection.
    public func readAll() -> [UInt8] {
        var all: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = piece.withUnsafeMutableBytes({ read($0) }), count > 0 {
            all += piece[..<count]
        }
        return all
    }

    /// Sends all bytes; false when the other side has closed the connection.
    @discardableResult
    public func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = send(
                descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count,
                Int32(MSG_NOSIGNAL))
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func withAddress(
        port: Int, _ use: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                use($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// Runs blocking calls on a separate thread, because the server needs the threads of the cooperative pool.
public func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
