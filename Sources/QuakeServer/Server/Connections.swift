import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOExtras
import NIOPosix

/// The connections of all clients of one address.
///
/// HummingbirdCore hands over the requests on them. Accepting is done here, because its own server cannot take a socket that
/// was opened by systemd.
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
            // The kernel buffers enough for clients that read. For others, only one piece is on its way.
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1, high: 16 << 10))
            // Requests are short, and bodies are not read. The buffer of a received byte stays in memory until it is processed.
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 512, maximum: 8 << 10)
            )
            .listen(on: address) { channel in
                let http = responder.connection(on: channel, scope)
                return http.setup(channel: channel, logger: logger).map { (http, $0) }
            }
        // NIO shortens the queue of a socket that listens already to its own default.
        if case .descriptor(let descriptor) = address { Glibc.listen(descriptor, Self.backlog) }
        self.address = address.bound(to: listener.channel.localAddress)
        (self.quiescing, self.logger) = (quiescing, logger)
    }

    let address: ListeningAddress

    func close() async throws { try await listener.executeThenClose { _ in } }

    /// Serves until `end` was called and all answers that were under way are written, or their time is up.
    func serve() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { connections in
                for try await (http, channel) in connections {
                    group.addTask { await http.handle(value: channel, logger: logger) }
                }
            }
        }
    }

    /// Stops accepting connections, and closes each one as soon as it has no answer under way, or by `ClientLimits` when its
    /// time is up.
    func end() {
        quiescing.initiateShutdown(promise: nil)
    }
}
