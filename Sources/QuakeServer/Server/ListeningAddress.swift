import Glibc
import NIOCore
import NIOPosix

/// Where the server waits for connections.
public enum ListeningAddress: Sendable, Equatable, CustomStringConvertible {
    /// A host and a port; port 0 takes a free one.
    case port(host: String, Int)
    /// A socket that was handed to the process, and listens already.
    case descriptor(Int32)

    /// Reads `HOST:PORT`, `[::1]:PORT` or `:PORT`, which means every address; nil for anything else.
    public init?(_ text: String) {
        guard let match = text.wholeMatch(of: #/(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^:\[\]\/]*)):(\d{1,5})/#),
            let port = Int(match.3), port <= 65_535
        else { return nil }
        let host = match.1 ?? match.2 ?? ""
        self = .port(host: host.isEmpty ? "::" : String(host), port)
    }

    /// The socket that systemd has opened for this process; nil without socket activation (sd_listen_fds(3)).
    public static var activated: ListeningAddress? {
        func number(_ name: String) -> Int32? { getenv(name).flatMap { Int32(String(cString: $0)) } }
        guard number("LISTEN_PID") == getpid(), let count = number("LISTEN_FDS"), count >= 1 else {
            return nil
        }
        return .descriptor(3)
    }

    public func with(port: Int?) -> ListeningAddress {
        guard case .port(let host, _) = self, let port else { return self }
        return .port(host: host, port)
    }

    public var description: String {
        switch self {
        case .port(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .descriptor(let number):
            Self.bound(number).map { "\($0)" } ?? "descriptor \(number)"
        }
    }

    /// The host and port of a socket; nil for other kinds, such as Unix sockets.
    private static func bound(_ descriptor: Int32) -> ListeningAddress? {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var (host, port) = ([CChar](repeating: 0, count: 64), [CChar](repeating: 0, count: 8))
        let isKnown = withUnsafeMutablePointer(to: &address) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &size) == 0,
                    [AF_INET, AF_INET6].contains(Int32(address.pointee.sa_family))
                else { return false }
                return getnameinfo(
                    address, size, &host, socklen_t(host.count), &port, socklen_t(port.count),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0
            }
        }
        func text(_ characters: [CChar]) -> String {
            String(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        guard isKnown, let port = Int(text(port)) else { return nil }
        return .port(host: text(host), port)
    }
}

/// The server cannot listen where it was told to.
public struct ListeningError: Error, CustomStringConvertible {
    let address: ListeningAddress
    let reason: String

    public var description: String {
        "cannot listen on \(address): \(reason)"
    }
}

extension ServerBootstrap {
    /// Starts to listen.
    ///
    /// - Throws: `ListeningError`.
    @concurrent
    func listen<Output: Sendable>(
        on address: ListeningAddress,
        _ initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Output>
    ) async throws -> NIOAsyncChannel<Output, Never> {
        do {
            switch address {
            case .port(let host, let port):
                return try await bind(host: host, port: port, childChannelInitializer: initialize)
            case .descriptor(let descriptor):
                return try await bind(descriptor, childChannelInitializer: initialize)
            }
        } catch let error as IOError {
            let guess = error.errnoCode == EADDRINUSE ? "; is another server running there?" : ""
            throw ListeningError(address: address, reason: String(cString: strerror(error.errnoCode)) + guess)
        } catch let error as SocketAddressError {
            throw ListeningError(address: address, reason: "\(error)")
        }
    }
}
