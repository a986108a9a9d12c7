import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// HTTP/1 on one client's connection.
///
/// HummingbirdCore reads the requests and calls the responder. HummingbirdCore's own HTTP/1 channel is not used, because it lacks
/// the rules of `HTTPRules`, and reads the next request before the current one is answered.
struct HTTPConnection: HTTPChannelHandler {
    typealias Value = NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>

    let client: Client
    let service: Responder

    var responder: HTTPChannelHandler.Responder {
        { [client, service] request, writer, channel in
            try await service.respond(to: request.head, writer, for: client, on: channel)
        }
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let settings = service.settings
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(ClientLimits(client, settings, service.metrics))
            var encoding = HTTPResponseEncoder.Configuration()
            encoding.automaticallySetFramingHeaders = false
            try pipeline.addHandler(HTTPResponseEncoder(configuration: encoding))
            var limits = NIOHTTPDecoderLimitConfiguration()
            (limits.maxHeaderFieldSize, limits.maxHeaderListSize) = (settings.headSize, settings.headSize)
            limits.maxHeaderFieldCount = ServerSettings.headFields
            // The limits apply to the header fields only. The target is bounded by the size of the decoder's buffer.
            try pipeline.addHandler(
                ByteToMessageHandler(
                    HTTPRequestDecoder(limitConfiguration: limits), maximumBufferSize: settings.headSize))
            try pipeline.addHandler(HTTPServerPipelineHandler())
            try pipeline.addHandler(HTTPRules(client, service))
            try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
            try pipeline.addHandler(
                HTTPConnectionStateHandler(idleTimeout: settings.idleTime, logger: logger))
            return try NIOAsyncChannel(
                wrappingChannelSynchronously: channel,
                // One request fills the buffer. A request without a body has two parts, its head and its end.
                configuration: .init(
                    backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2),
                    isOutboundHalfClosureEnabled: true))
        }
    }

    func handle(value: Value, logger: Logger) async {
        await handleHTTP(asyncChannel: value, logger: logger)
    }
}

extension Responder {
    func connection(on channel: any Channel, _ scope: Scope) -> HTTPConnection {
        metrics.count { $0.connections += 1 }
        channel.closeFuture.whenComplete { _ in self.metrics.count { $0.connections -= 1 } }
        let peer = channel.remoteAddress?.ipAddress.flatMap { ClientAddress($0) }
        let rateLimitKey = settings.trustedProxies.rateLimitKey(behind: peer ?? .loopback, [:])
        let refusal: Refusal?
        do throws(Refusal) {
            try bounds.take(.connection, for: rateLimitKey)
            channel.closeFuture.whenComplete { _ in self.bounds.give(.connection, for: rateLimitKey) }
            refusal = nil
        } catch {
            refusal = error
        }
        let client = Client(peer, behind: settings.trustedProxies, refusal: refusal, scope: scope)
        return HTTPConnection(client: client, service: self)
    }

    /// Counts and logs a malformed request.
    ///
    /// - Parameter status: the status of the refusal, or 0 if the client has left.
    func noteUnreadable(from client: Client, status: Int) {
        metrics.count { $0.answer("unreadable", status: status) }
        accessLog?.write(
            LoggedRequest(client: client.address([:]), status: status, bytes: client.takeSent()))
    }
}
