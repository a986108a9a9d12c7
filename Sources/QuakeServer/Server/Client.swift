import HTTPTypes
import NIOCore
import NIOHTTP1
import Synchronization

/// The other end of one connection: what is being done for it ends when it goes away.
final class Client: Sendable {
    /// The other end of the connection; nil if it is no address of the Internet.
    private let peer: ClientAddress?
    private let proxies: TrustedProxies
    /// Whether it is one too many of its address.
    let isRefused: Bool
    private let state = Mutex(State())

    private struct State {
        var isGone = false
        /// How many bytes were sent to it since they were counted last.
        var sent = 0
        var left: (@Sendable () -> Void)?
        var takesChunks = true
        var isStream = false
    }

    init(_ peer: ClientAddress?, behind proxies: TrustedProxies, isRefused: Bool) {
        (self.peer, self.proxies, self.isRefused) = (peer, proxies, isRefused)
    }

    /// Where a request comes from.
    func address(_ fields: HTTPFields) -> String {
        let address = proxies.client(behind: peer ?? .loopback, fields)
        return peer == nil && address == .loopback ? "-" : address.description
    }

    /// For whom a request is counted; nil for those who are not told apart.
    func customer(_ fields: HTTPFields) -> ClientAddress? {
        proxies.customer(behind: peer ?? .loopback, fields)
    }

    func countSent(_ bytes: Int) { state.withLock { $0.sent += bytes } }

    /// How many bytes were sent to it since this was asked last.
    func takeSent() -> Int {
        state.withLock { state in
            defer { state.sent = 0 }
            return state.sent
        }
    }

    /// Begins a request.
    func begin(_ head: HTTPRequestHead) {
        state.withLock {
            $0.isStream = false
            $0.takesChunks = (head.version.major, head.version.minor) >= (1, 1)
        }
    }

    /// Whether the request that is being answered is of HTTP/1.1. To others, the end of the connection is that of the body.
    var takesChunks: Bool { state.withLock { $0.takesChunks } }

    /// Whether what is being answered has no end of its own.
    var isStream: Bool {
        get { state.withLock { $0.isStream } }
        set { state.withLock { $0.isStream = newValue } }
    }

    /// Begins an answer, whose spool fails when the client goes away.
    func begin(_ spool: AnswerSpool) {
        begin { spool.finish(CancellationError()) }
    }

    /// Begins something for the client, which is told when it goes away.
    func begin(_ left: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            state.left = left
            return state.isGone
        }
        if isGone { left() }
    }

    var isGone: Bool { state.withLock { $0.isGone } }

    func end() {
        state.withLock { $0.left = nil }
    }

    func leave() {
        let left = state.withLock { state in
            state.isGone = true
            return state.left.take()
        }
        left?()
    }
}

/// Closes a connection whose client does not read what it asked for, or that is still open some time after the server is to
/// end.
final class ClientLimits: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let client: Client
    private let readTime: TimeAmount
    private let endingTime: TimeAmount
    private var end: Scheduled<Void>?
    private var unsent = 0
    private var lastProgress = NIODeadline.now()
    private var check: Scheduled<Void>?

    init(_ client: Client, _ settings: ServerSettings) {
        self.client = client
        (readTime, endingTime) = (TimeAmount(settings.readTime), TimeAmount(settings.endingTime))
    }

    func channelActive(context: ChannelHandlerContext) {
        if client.isRefused {
            // Without waiting for a request, or for it to read this: it is one too many.
            let text = "Too many connections are open from this address.\n"
            let answer = """
                HTTP/1.1 429 Too Many Requests\r
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
