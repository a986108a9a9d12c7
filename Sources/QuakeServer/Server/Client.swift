import NIOCore
import Synchronization

/// The other end of one connection: what is being done for it ends when it goes away.
final class Client: Sendable {
    private let state = Mutex(State())

    private struct State {
        var isGone = false
        var spool: AnswerSpool?
    }

    /// Begins an answer, whose spool fails when the client goes away.
    func begin(_ spool: AnswerSpool) {
        let isGone = state.withLock { state in
            state.spool = spool
            return state.isGone
        }
        if isGone { spool.finish(CancellationError()) }
    }

    var isGone: Bool { state.withLock { $0.isGone } }

    func end() {
        state.withLock { $0.spool = nil }
    }

    func leave() {
        let spool = state.withLock { state in
            state.isGone = true
            return state.spool.take()
        }
        spool?.finish(CancellationError())
    }
}

/// Closes a connection whose client does not read what it asked for, or sends more than a request may have.
final class ClientLimits: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let client: Client
    private let readTime: TimeAmount
    private let requestSize: Int
    /// Bytes that came in since something was last sent.
    private var received = 0
    private var unsent = 0
    private var lastProgress = NIODeadline.now()
    private var check: Scheduled<Void>?

    init(_ client: Client, readTime: Duration, requestSize: Int) {
        self.client = client
        self.readTime = TimeAmount(readTime)
        self.requestSize = requestSize
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        guard received <= requestSize else { return context.close(promise: nil) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        received = 0
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
        check?.cancel()
        check = nil
        client.leave()
        context.fireChannelInactive()
    }
}

@available(*, unavailable)
extension ClientLimits: Sendable {}
