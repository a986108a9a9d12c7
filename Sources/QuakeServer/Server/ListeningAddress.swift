import Feed
import Glibc
import NIOCore
import NIOPosix

/// Where the server waits for connections.
public enum ListeningAddress: Sendable, Equatable, CustomStringConvertible {
    /// A host and a port. Port 0 means any free port.
    case port(host: String, Int)
    /// The descriptor of a socket that the process has inherited, and that already listens.
    case descriptor(Int32)

    /// Reads `HOST:PORT`, `[::1]:PORT` or `:PORT`. An empty host means all addresses of the machine. Returns nil for other texts.
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

    public var port: Int? { if case .port(_, let port) = self { port } else { nil } }

    public var description: String {
        switch self {
        case .port(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .descriptor(let number): "descriptor \(number)"
        }
    }

    /// The actual address of the socket that was opened for this address, with the port that the system chose for port 0.
    func bound(to socket: SocketAddress?) -> ListeningAddress {
        guard let socket, let port = socket.port else { return self }
        return switch self {
        case .port(let host, _): .port(host: host, port)
        case .descriptor: .port(host: socket.ipAddress ?? "", port)
        }
    }
}

extension ServerBootstrap {
    /// - Throws: `Failure` if the address can't be used.
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
            let reason = String(cString: strerror(error.errnoCode))
            let guess = error.errnoCode == EADDRINUSE ? "; is another server running there?" : ""
            throw Failure(.unavailable, "cannot listen on \(address): \(reason)\(guess)")
        } catch let error as SocketAddressError.UnknownHost {
            throw Failure(.unavailable, "cannot listen on \(address): there is no host \(error.host)")
        } catch let error as SocketAddressError {
            throw Failure(.unavailable, "cannot listen on \(address): \(error)")
        }
    }
}
