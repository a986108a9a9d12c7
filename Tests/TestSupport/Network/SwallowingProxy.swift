import Foundation
import Glibc
import Synchronization

/// A relay in front of a server's Unix socket. It can silence connections. The relay drops all bytes of a silent connection, and
/// neither side gets an error. A firewall that has forgotten a connection does the same.
public final class SwallowingProxy: Sendable {
    /// The directory of the relay's socket. Clients use it like a server's socket directory.
    public let directory: String
    private let listener: Int32
    private let server: String
    /// Connections are numbered, and all connections up to this number are silent.
    private let silentUpTo = Mutex(0)
    private let accepted = Mutex(0)

    /// - Parameter server: the directory of the server's socket.
    public init(to server: String, port: Int = 5432) throws {
        self.server = "\(server)/.s.PGSQL.\(port)"
        directory =
            FileManager.default.temporaryDirectory.appending(path: "p\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let path = "\(directory)/.s.PGSQL.\(port)"
        listener = try unixSocket(at: path) { bind($0, $1, $2) }
        guard listen(listener, 16) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        Thread.detachNewThread { [listener] in
            while case let client = accept(listener, nil, nil), client >= 0 { self.relay(client) }
        }
    }

    /// Closes the socket and removes its directory. Open connections continue.
    public func remove() throws {
        shutdown(listener, Int32(SHUT_RDWR))
        try FileManager.default.removeItem(atPath: directory)
    }

    /// Drops all further bytes of the connections that are open now. New connections work.
    public func silenceConnections() {
        let count = accepted.withLock { $0 }
        silentUpTo.withLock { $0 = count }
    }

    public var connectionCount: Int { accepted.withLock { $0 } }

    private func relay(_ client: Int32) {
        let number = accepted.withLock { count in
            count += 1
            return count
        }
        guard let server = try? unixSocket(at: server, { connect($0, $1, $2) }) else {
            close(client)
            return
        }
        for (source, target) in [(client, server), (server, client)] {
            Thread.detachNewThread { self.pump(number, from: source, to: target) }
        }
    }

    private func pump(_ number: Int, from source: Int32, to target: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = read(source, &buffer, buffer.count), count > 0 {
            if number <= silentUpTo.withLock({ $0 }) { continue }
            var sent = 0
            while sent < count {
                let written = buffer.withUnsafeBytes {
                    send(target, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
                }
                guard written > 0 else { break }
                sent += written
            }
        }
        // If one side ends a silent connection, the other side does not notice.
        if number > silentUpTo.withLock({ $0 }) { shutdown(target, Int32(SHUT_WR)) }
    }
}
