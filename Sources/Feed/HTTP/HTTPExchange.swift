import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// One request and its response, over a connection of its own, which is closed at the end whatever happens: a feed
/// is asked for once a minute at most, and nothing is left over for years to add up.
struct HTTPExchange {
    enum Outcome {
        case result(FetchResult)
        /// The value of the field Location.
        case redirect(String)
    }

    let target: HTTPTarget
    let credentials: (user: String, password: String)?
    let validators: Validators?
    let options: FetchOptions
    let trust: TLSConfiguration

    /// - Throws: `FetchFailure`, `CancellationError`, what `body` throws.
    func run(_ body: ([UInt8]) async throws -> Void) async throws -> Outcome {
        let proxy = try options.proxies.proxy(for: target)
        return try await HTTPClient.withHTTPClient(configuration: configuration(proxy)) { client in
            let response = try await fetching(through: proxy) {
                try await client.execute(request(through: proxy), timeout: TimeAmount(options.headTimeout))
            }
            switch response.status.code {
            case 200:
                try await decode(response, body)
                return .result(
                    .document(response.headers.validators, freshFor: response.headers.freshFor))
            case 304 where validators != nil:
                return .result(.notModified(freshFor: response.headers.freshFor))
            case 301, 302, 303, 307, 308:
                guard let location = response.headers.first(name: "location") else { fallthrough }
                return .redirect(location)
            default: throw FetchFailure(response)
            }
        }
    }

    private func decode(_ response: HTTPClientResponse, _ body: ([UInt8]) async throws -> Void)
        async throws
    {
        if let encoding = response.headers.unknownContentEncoding {
            throw FetchFailure("its content encoding is \(encoding), which was not asked for; gzip would do")
        }
        var decoder = ContentDecoder(limit: options.inflatedLimit)
        var chunks = response.body.makeAsyncIterator()
        while let buffer = try await fetching(inBody: true, { try await chunks.next() }) {
            try await decoder.decode(Array(buffer.readableBytesView), body)
        }
        try await decoder.finish(body)
    }

    // MARK: Asking

    private func request(through proxy: Proxy?) -> HTTPClientRequest {
        // A proxy forwards plain requests. What is encrypted goes through a tunnel, which is the client's business.
        let forwarder = target.isSecure ? nil : proxy
        var request = HTTPClientRequest(url: forwarder?.target.url ?? target.url)
        request.headers.add(name: "host", value: target.authority)
        // A connection that could be used again would be kept in mind for a minute, and a megabyte of certificates
        // with it, although its client is gone.
        request.headers.add(name: "connection", value: "close")
        if let forwarder, let user = forwarder.user {
            request.setBasicAuth(username: user, password: forwarder.password)
            request.headers = HTTPHeaders(
                request.headers.map {
                    ($0.name.lowercased() == "authorization" ? "proxy-authorization" : $0.name, $0.value)
                })
        }
        if let (user, password) = credentials { request.setBasicAuth(username: user, password: password) }
        let product = options.version.map { "quakes/\($0)" } ?? "quakes"
        request.headers.add(name: "user-agent", value: "\(product) (+https://example.org/quakes)")
        request.headers.add(name: "accept", value: "application/geo+json, application/json")
        request.headers.add(name: "accept-encoding", value: "gzip")
        if let etag = validators?.etag { request.headers.add(name: "if-none-match", value: etag) }
        if let date = validators?.lastModified { request.headers.add(name: "if-modified-since", value: date) }
        return request
    }

    private func configuration(_ proxy: Proxy?) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: trust, redirectConfiguration: .disallow)
        configuration.timeout = .init(connect: TimeAmount(options.connectTimeout))
        // One attempt is one connection.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        if let proxy, target.isSecure {
            configuration.proxy = .server(
                host: proxy.target.host, port: proxy.target.port,
                authorization: proxy.user.map { .basic(username: $0, password: proxy.password) })
        }
        let timeout = TimeAmount(options.readTimeout)
        let forwarded = proxy != nil && !target.isSecure ? target.url : nil
        // Not for debugging: it is the one way to the connection's pipeline.
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
                try pipeline.addHandler(SilenceHandler(timeout: timeout), position: .after(encoder))
                if let forwarded {
                    try pipeline.addHandler(
                        ForwardedRequestHandler(url: forwarded), position: .after(encoder))
                }
            }
        }
        return configuration
    }

    // MARK: Failing

    /// Turns the client's errors into words.
    private func fetching<Value>(
        through proxy: Proxy? = nil, inBody: Bool = false, _ body: @concurrent () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The client reports a cancelled task as its own error.
            try Task.checkCancellation()
            var failure = FetchFailure(error, inBody: inBody, options: options)
            if let proxy { failure.reason = "proxy \(proxy): \(failure.reason)" }
            throw failure
        }
    }
}

/// Ends a connection whose other side has begun to answer and then keeps silent.
///
/// The client's own read timeout would also count the time in which the reader wants no bytes, because it is busy with
/// the last ones. This one sees when bytes are wanted: a read passes then.
private final class SilenceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = HTTPClientRequestPart

    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var hasBegun = false

    init(timeout: TimeAmount) {
        self.timeout = timeout
    }

    func read(context: ChannelHandlerContext) {
        if hasBegun, timer == nil {
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) {
                context.fireErrorCaught(HTTPClientError.readTimeout)
                context.close(promise: nil)
            }
        }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasBegun = true
        stop()
        context.fireChannelRead(data)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}

/// Puts the whole URL on the request line, as a proxy needs it to forward the request (RFC 9112, section 3.2.2).
private final class ForwardedRequestHandler: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let url: String

    init(url: String) {
        self.url = url
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var part = unwrapOutboundIn(data)
        if case .head(var head) = part {
            head.uri = url
            part = .head(head)
        }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
