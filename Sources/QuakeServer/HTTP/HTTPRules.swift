import NIOCore
import NIOHTTP1

/// The rules of HTTP/1 for the connection as a whole (RFC 9112): how an answer's end is marked, when a connection is closed after
/// an answer, how a half-closed connection is served, and how malformed requests are refused.
///
/// This handler gets one request at a time.
final class HTTPRules: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let client: Client
    private let service: Responder
    private var request: HTTPRequestHead?
    private var hasBegun = false
    private var isLast = false
    private var isOver = false
    private var closing: Scheduled<Void>?

    init(_ client: Client, _ service: Responder) {
        (self.client, self.service) = (client, service)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        // The event that closes connections does not reach a connection that is accepted just as the server begins to close.
        if service.phase == .closing { context.close(promise: nil) }
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        (request, hasBegun) = (head, false)
        client.begin(head)
        // The decoder reads nothing after a request for a tunnel or an upgrade. The server grants neither, so it closes the
        // connection after the answer.
        isLast =
            !client.takesChunks || !head.isKeepAlive || head.method == .CONNECT
            || head.headers.contains(name: "upgrade")
        if isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
        context.fireChannelRead(wrapInboundOut(.head(head)))
    }

    /// Refuses a malformed request. If an earlier answer is still being sent, the malformed request gets none: the connection is
    /// closed after the earlier answer.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let isTooLong =
            error is ByteToMessageDecoderError.PayloadTooLargeError
            || error as? HTTPParserError == .headerOverflow
        guard isTooLong || error is HTTPParserError || error is NIOHTTPDecoderError else {
            return context.fireErrorCaught(error)
        }
        guard !isOver else { return }
        guard request == nil else {
            isLast = true
            return
        }
        guard context.channel.isActive else { return service.noteUnreadable(from: client, status: 0) }
        let status: HTTPResponseStatus = isTooLong ? .requestHeaderFieldsTooLarge : .badRequest
        service.noteUnreadable(from: client, status: Int(status.code))
        let sentence =
            isTooLong
            ? "The head may have at most \(service.settings.headSize) bytes and \(ServerSettings.headFields) fields."
            : "Malformed HTTP request."
        let body = ByteBuffer(string: "\(sentence)\n")
        let fields: HTTPHeaders = [
            "Content-Type": "text/plain; charset=utf-8", "Content-Length": "\(body.readableBytes)",
            "Connection": "close",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        finish(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // A client that has closed its sending side may still wait for an answer, or may have left. Only a write shows which. A
        // stream has no end to wait for, so a stream that has begun is closed at once.
        if event as? ChannelEvent == .inputClosed, request != nil {
            if hasBegun, client.isStream { return context.close(promise: nil) }
            close(context, in: TimeAmount(service.settings.halfClosedTime)) {
                !self.hasBegun || self.client.isStream
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        closing?.cancel()
        context.fireChannelInactive()
    }

    // MARK: Answers

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            frame(&head)
            hasBegun = true
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body:
            if request?.method == .HEAD { promise?.succeed() } else { context.write(data, promise: promise) }
        case .end:
            request = nil
            // `isOver` is set before the write, because the next request may be read before `context.write` returns.
            isOver = isLast
            let isOver = isOver
            context.write(data, promise: promise)
            guard isOver else { return }
            context.flush()
            finish(context)
        }
    }

    /// Sets the fields that mark the end of the answer: its length, its last chunk, or the end of the connection.
    private func frame(_ head: inout HTTPResponseHead) {
        // While the server drains, clients should use another server for their next requests.
        if head.headers["connection"].contains("close") || service.phase != .serving {
            isLast = true
        }
        if !head.status.mayHaveResponseBody {
            if head.status != .notModified { head.headers.remove(name: "content-length") }
        } else if !head.headers.contains(name: "content-length"), request?.method != .HEAD {
            if client.takesChunks {
                head.headers.replaceOrAdd(name: "transfer-encoding", value: "chunked")
            } else {
                isLast = true
            }
        }
        if isLast { head.headers.replaceOrAdd(name: "connection", value: "close") }
    }

    /// Closes the sending side first and the whole connection later, so that the client can read all of the answer. If the
    /// connection were closed at once, with unread bytes from the client, it would be reset (RFC 9112, 9.6).
    private func finish(_ context: ChannelHandlerContext) {
        isOver = true
        let isSent = context.eventLoop.makePromise(of: Void.self)
        context.close(mode: .output, promise: isSent)
        isSent.futureResult.assumeIsolated().whenComplete { _ in
            self.close(context, in: TimeAmount(self.service.settings.lingeringTime)) { true }
        }
    }

    private func close(
        _ context: ChannelHandlerContext, in time: TimeAmount, if condition: @escaping () -> Bool
    ) {
        closing?.cancel()
        closing = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            if condition() { context.close(promise: nil) }
        }
    }
}
