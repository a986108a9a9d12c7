import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOExtras
import NIOPosix

/// Accepts and serves the connections of all clients on one address.
///
/// HummingbirdCore reads the requests of each connection. The connections are accepted here, because HummingbirdCore's own server
/// cannot use a socket that systemd has opened.
struct Connections: Sendable {
    private let listener: NIOAsyncChannel<(HTTPConnection, HTTPConnection.Value), Never>
    private let quiescing: ServerQuiescingHelper
    private let logger: Logger
    private static let backlog: Int32 = 1024

    init(
        _ address: ListeningAddress, _ responder: Responder, _ scope: Responder.Scope, limit: Int
    ) async throws {
        let (quiescing, logger) = (
            ServerQuiescingHelper(group: MultiThreadedEventLoopGroup.singleton), responder.logger
        )
        listener =
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let limit = MaximumAvailableConnections(limit, logger: logger)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(AvailableConnectionsChannelHandler(delegate: limit))
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // The kernel's buffers are enough for clients that read. For a client that does not read, the process buffers one
            // piece.
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1, high: 16 << 10))
            // Requests are short and bodies are not read, so small buffers suffice. A buffer stays in memory until the last byte
            // in it is processed.
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 8 << 10)
            )
            .listen(on: address) { channel in
                let http = responder.connection(on: channel, scope)
                return http.setup(channel: channel, logger: logger).map { (http, $0) }
            }
        // If the socket already listens, NIO reduces its backlog to NIO's default, so the backlog is set again here.
        if case .descriptor(let descriptor) = address { Glibc.listen(descriptor, Self.backlog) }
        self.address = address.bound(to: listener.channel.localAddress)
        (self.quiescing, self.logger) = (quiescing, logger)
    }

    let address: ListeningAddress

    func close() async throws { try await listener.executeThenClose { _ in } }

    /// Serves clients until `end()` was called and each answer under way is either written or has used up its time.
    func serve() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { connections in
                for try await (http, channel) in connections {
                    group.addTask { await http.handle(value: channel, logger: logger) }
                }
            }
        }
    }

    /// Stops accepting connections. Each open connection is closed as soon as it has no answer under way. After `endingTime`,
    /// `ClientLimits` closes the connections that are still open.
    func end() {
        quiescing.initiateShutdown(promise: nil)
    }
}
