import NIOCore

/// Closes a connection if its client does not read the bytes that were sent, or if the connection is still open `endingTime`
/// after the server has begun to close its connections.
final class ClientLimits: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let client: Client
    private let metrics: Metrics
    private let readTime: TimeAmount
    private let endingTime: TimeAmount
    private var end: Scheduled<Void>?
    private var unsent = 0
    private var lastProgress = NIODeadline.now()
    private var check: Scheduled<Void>?

    init(_ client: Client, _ settings: ServerSettings, _ metrics: Metrics) {
        (self.client, self.metrics) = (client, metrics)
        (readTime, endingTime) = (TimeAmount(settings.readTime), TimeAmount(settings.endingTime))
    }

    func channelActive(context: ChannelHandlerContext) {
        if let refusal = client.refusal {
            // The address has reached its limit of connections. The client gets this answer before it sends a request, and the
            // connection is closed without waiting until the client has read the answer.
            let text = "\(refusal.sentence)\n"
            let answer = """
                HTTP/1.1 429 Too Many Requests\r
                Access-Control-Allow-Origin: *\r
                Content-Type: text/plain; charset=utf-8\r
                Content-Length: \(text.utf8.count)\r
                Retry-After: 5\r
                Connection: close\r
                \r
                \(text)
                """
            context.writeAndFlush(wrapOutboundOut(.byteBuffer(ByteBuffer(string: answer))), promise: nil)
            context.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            end = context.eventLoop.assumeIsolated().scheduleTask(in: endingTime) {
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        client.countSent(unwrapOutboundIn(data).readableBytes)
        let promise = promise ?? context.eventLoop.makePromise()
        if unsent == 0 { lastProgress = .now() }
        unsent += 1
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.unsent -= 1
            self.lastProgress = .now()
        }
        context.write(data, promise: promise)
        if check == nil { scheduleCheck(context, in: readTime) }
    }

    private func scheduleCheck(_ context: ChannelHandlerContext, in time: TimeAmount) {
        check = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
            self.check = nil
            guard self.unsent > 0 else { return }
            let end = self.lastProgress + self.readTime
            if end <= .now() {
                self.metrics.count { $0.slowClients += 1 }
                context.close(promise: nil)
            } else {
                self.scheduleCheck(context, in: end - .now())
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end?.cancel()
        check?.cancel()
        check = nil
        client.leave()
        context.fireChannelInactive()
    }
}
