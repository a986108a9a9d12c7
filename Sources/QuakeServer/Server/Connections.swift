import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// The connections of all clients.
///
/// HummingbirdCore speaks HTTP on them. Accepting is done here, because its own server cannot take a socket that was opened
/// by systemd.
struct Connections: Sendable {
    private let listener: NIOAsyncChannel<Connection, Never>
    private let open: OpenChannels
    private let endingTime: Duration
    private let logger: Logger

    /// One client's connection, with what speaks HTTP on it.
    private struct Connection: Sendable {
        let http: HTTPConnection
        let channel: HTTPConnection.Value
    }

    init(_ address: ListeningAddress, _ responder: Responder, _ settings: ServerSettings, _ logger: Logger)
        async throws
    {
        let open = OpenChannels()
        listener =
            try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let limit = MaximumAvailableConnections(settings.connections, logger: logger)
                    try channel.pipeline.syncOperations.addHandler(
                        AvailableConnectionsChannelHandler(delegate: limit))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .listen(on: address) { channel in
                let http = Self.http(responder, settings)
                open.insert(channel)
                return http.setup(channel: channel, logger: logger).map {
                    Connection(http: http, channel: $0)
                }
            }
        (self.open, self.endingTime, self.logger) = (open, settings.endingTime, logger)
    }

    private static func http(_ responder: Responder, _ settings: ServerSettings) -> HTTPConnection {
        let client = Client()
        return HTTPConnection(client: client, settings: settings) { status in
            responder.metrics.countUnreadable(status: status)
        } responder: { request, writer, channel in
            try await responder.respond(to: request.head, writer, for: client, on: channel)
        }
    }

    /// The port, unless it is another kind of socket.
    var port: Int? { listener.channel.localAddress?.port }

    /// Serves until `end` was called and all answers that were under way are written, or their time is up.
    func serve() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { connections in
                for try await connection in connections {
                    group.addTask { await connection.http.handle(value: connection.channel, logger: logger) }
                }
            }
        }
    }

    /// Accepts nobody any more, and closes each connection as soon as nothing is being answered on it, at the latest when
    /// the time for that is up.
    func end() {
        listener.channel.close(promise: nil)
        open.quiesce()
        listener.channel.eventLoop.scheduleTask(in: TimeAmount(endingTime)) { open.close() }
    }
}

/// The channels of the clients that are connected.
private final class OpenChannels: Sendable {
    private let channels = Mutex<[ObjectIdentifier: any Channel]>([:])

    func insert(_ channel: any Channel) {
        channels.withLock { $0[ObjectIdentifier(channel)] = channel }
        channel.closeFuture.whenComplete { _ in
            self.channels.withLock { $0[ObjectIdentifier(channel)] = nil }
        }
    }

    func quiesce() {
        for channel in channels.withLock({ Array($0.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }

    func close() {
        for channel in channels.withLock({ Array($0.values) }) { channel.close(promise: nil) }
    }
}
