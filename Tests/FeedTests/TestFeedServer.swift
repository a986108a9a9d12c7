import NIOCore
import NIOHTTP1
import NIOPosix

/// A real HTTP server on loopback that answers by path and lives as long as `body` runs.
struct TestFeedServer {
    enum Answer: Sendable {
        case whole(HTTPResponseStatus, [UInt8], headers: HTTPHeaders = [:])
        /// Promises more than it sends, and closes.
        case cutOff([UInt8], promised: Int)
        /// Sends this much, and then nothing more.
        case stalled([UInt8], promised: Int)
    }

    let port: Int
    func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    static func run<Result>(
        isolation: isolated (any Actor)? = #isolation,
        answering answer: @escaping @Sendable (HTTPRequestHead) -> Answer,
        _ body: (TestFeedServer) async throws -> Result
    ) async throws -> Result {
        let channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(AnswerHandler(answer: answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            let result = try await body(TestFeedServer(port: channel.localAddress!.port!))
            try await channel.close()
            return result
        } catch {
            try await channel.close()
            throw error
        }
    }
}

private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: @Sendable (HTTPRequestHead) -> TestFeedServer.Answer

    init(answer: @escaping @Sendable (HTTPRequestHead) -> TestFeedServer.Answer) {
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let request) = unwrapInboundIn(data) else { return }
        switch answer(request) {
        case .whole(let status, let body, var headers):
            headers.replaceOrAdd(name: "content-length", value: "\(body.count)")
            send(status, headers, body, context)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .cutOff(let body, let promised):
            send(.ok, ["content-length": "\(promised)"], body, context)
            context.flush()
            context.close(promise: nil)
        case .stalled(let body, let promised):
            send(.ok, ["content-length": "\(promised)"], body, context)
            context.flush()
        }
    }

    private func send(
        _ status: HTTPResponseStatus, _ headers: HTTPHeaders, _ body: [UInt8],
        _ context: ChannelHandlerContext
    ) {
        let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    }
}
