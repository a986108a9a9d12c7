import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A real HTTP server on loopback that lives as long as `body` runs. It answers by request, or by script.
public struct TestFeedServer: Sendable {
    public indirect enum Answer: Sendable {
        /// Another answer, as soon as something holds.
        case held(Answer, until: @Sendable () -> Bool)
        case whole(HTTPResponseStatus, [UInt8], headers: HTTPHeaders = [:])
        /// Promises more than it sends, and closes.
        case cutOff([UInt8], promised: Int)
        /// Sends chunks, and closes before the last.
        case cutOffChunked([UInt8])
        /// Sends this much, and then nothing more.
        case stalled([UInt8], promised: Int)
        /// Sends this much, and resets the connection.
        case reset([UInt8], promised: Int)
        /// Resets the connection without a word.
        case resetAtOnce
        /// Never answers.
        case silent
        /// Sends what is no HTTP.
        case raw(String)
    }

    public let port: Int
    public var scheme = "http"
    fileprivate let log: ServerLog

    public func url(_ path: String) -> String { "\(scheme)://127.0.0.1:\(port)\(path)" }

    /// What has been asked so far.
    public var requests: [HTTPRequestHead] { log.requests.withLock { $0 } }
    public var openConnections: Int { log.openConnections.withLock { $0 } }

    public static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, tls: NIOSSLContext? = nil,
        answering answer: @escaping @Sendable (HTTPRequestHead) -> Answer,
        _ body: (TestFeedServer) async throws -> Result
    ) async throws -> Result {
        let log = ServerLog()
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                log.openConnections.withLock { $0 += 1 }
                channel.closeFuture.whenComplete { _ in log.openConnections.withLock { $0 -= 1 } }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(AnswerHandler(log: log, answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = TestFeedServer(
            port: channel.localAddress!.port!, scheme: tls == nil ? "http" : "https", log: log)
        do {
            let result = try await body(server)
            try await channel.close()
            return result
        } catch {
            try await channel.close()
            throw error
        }
    }

    /// Answers the first request with the first answer, and so on; the last answer is for all further ones.
    public static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, script: [Answer],
        _ body: (TestFeedServer) async throws -> Result
    ) async throws -> Result {
        let next = Mutex(0)
        return try await run { _ in
            script[
                next.withLock { index in
                    defer { index = min(index + 1, script.count - 1) }
                    return index
                }]
        } _: {
            try await body($0)
        }
    }
}

/// Shown without the bytes.
extension TestFeedServer.Answer: CustomStringConvertible {
    public var description: String {
        switch self {
        case .held(let answer, _): "held: \(answer)"
        case .whole(let status, let body, let headers): "\(status), \(body.count) bytes, \(headers)"
        case .cutOff(let body, let promised): "cut off after \(body.count) of \(promised) bytes"
        case .cutOffChunked(let body): "cut off after a chunk of \(body.count) bytes"
        case .stalled(let body, let promised): "stalled after \(body.count) of \(promised) bytes"
        case .reset(let body, let promised): "reset after \(body.count) of \(promised) bytes"
        case .resetAtOnce: "reset at once"
        case .silent: "silent"
        case .raw(let text): text
        }
    }
}

private final class ServerLog: Sendable {
    let requests = Mutex<[HTTPRequestHead]>([])
    let openConnections = Mutex(0)
}

private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let log: ServerLog
    private let answer: @Sendable (HTTPRequestHead) -> TestFeedServer.Answer

    init(log: ServerLog, answer: @escaping @Sendable (HTTPRequestHead) -> TestFeedServer.Answer) {
        self.log = log
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let request) = unwrapInboundIn(data) else { return }
        log.requests.withLock { $0.append(request) }
        give(answer(request), context)
    }

    private func give(_ answer: TestFeedServer.Answer, _ context: ChannelHandlerContext) {
        switch answer {
        case .held(let held, let isTime):
            guard context.channel.isActive else { return }
            if isTime() { return give(held, context) }
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(5)) {
                self.give(answer, context)
            }
        case .whole(let status, let body, var headers):
            headers.replaceOrAdd(name: "content-length", value: "\(body.count)")
            send(status, headers, body, context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .cutOff(let body, let promised):
            send(.ok, ["content-length": "\(promised)"], body, context)
            context.flush()
            context.close(promise: nil)
        case .cutOffChunked(let body):
            send(.ok, ["transfer-encoding": "chunked"], body, context)
            context.flush()
            context.close(promise: nil)
        case .stalled(let body, let promised):
            send(.ok, ["content-length": "\(promised)"], body, context)
            context.flush()
        case .reset(let body, let promised):
            send(.ok, ["content-length": "\(promised)"], body, context)
            context.flush()
            reset(context)
        case .resetAtOnce: reset(context)
        case .silent: break
        case .raw(let text):
            // Past the encoder, which is nearer to the network.
            context.channel.pipeline.context(handlerType: HTTPResponseEncoder.self).whenSuccess {
                $0.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func send(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: [UInt8],
        _ context: ChannelHandlerContext
    ) {
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    }

    /// A connection closed without lingering is reset.
    private func reset(_ context: ChannelHandlerContext) {
        guard let channel = context.channel as? any Channel & SocketOptionProvider else { return }
        channel.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
    }
}
