import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

extension FeedSource {
    /// Reads the feed from its beginning to its end and hands over its inflated bytes, chunk by chunk. The source
    /// waits while `body` works.
    ///
    /// - Throws: `FeedError`, `CancellationError`, what `body` throws.
    nonisolated(nonsending)
        public func read(_ body: ([UInt8]) async throws -> Void) async throws
    {
        var decoder = ContentDecoder()
        switch self {
        case .standardInput:
            try await readDescriptor(STDIN_FILENO) { try await decoder.decode($0, body) }
        case .file(let path):
            let descriptor = try openFile(path)
            defer { Glibc.close(descriptor) }
            try await readDescriptor(descriptor) { try await decoder.decode($0, body) }
        case .url(let url):
            try await readURL(url) { try await decoder.decode($0, body) }
        }
        try await decoder.finish(body)
    }

    // MARK: Files and pipes

    private func openFile(_ path: String) throws -> Int32 {
        // Not waiting: a FIFO without a writer would hold the thread in `open`, out of cancellation's reach.
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw noInput(errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            Glibc.close(descriptor)
            throw noInput(EISDIR)
        }
        return descriptor
    }

    nonisolated(nonsending)
        private func readDescriptor(_ descriptor: Int32, _ body: ([UInt8]) async throws -> Void) async throws
    {
        while true {
            try Task.checkCancellation()
            // A pipe's read blocks for as long as its writer likes: not on Swift's cooperative pool.
            let result = try await NIOThreadPool.singleton.runIfActive { readWhenReady(descriptor) }
            switch result {
            case .notReady: continue
            case .bytes(let bytes):
                if bytes.isEmpty { return }
                try await body(bytes)
            case .failure(let error): throw noInput(error)
            }
        }
    }

    private func noInput(_ error: Int32) -> FeedError {
        .noInput(
            path: self == .standardInput ? "standard input" : "\(self)",
            reason: String(cString: strerror(error)))
    }

    // MARK: HTTP

    nonisolated(nonsending)
        private func readURL(_ url: String, _ body: ([UInt8]) async throws -> Void) async throws
    {
        var configuration = HTTPClient.Configuration()
        configuration.timeout = .init(connect: .seconds(10), read: .seconds(60))
        // A refused connection is said at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.redirectConfiguration = .follow(max: 5, allowCycles: false)
        try await HTTPClient.withHTTPClient(configuration: configuration) { client in
            try await readURL(url, with: client, body)
        }
    }

    nonisolated(nonsending)
        private func readURL(
            _ url: String, with client: HTTPClient, _ body: ([UInt8]) async throws -> Void
        ) async throws
    {
        let response = try await fetching { try await client.execute(request(url), timeout: .seconds(60)) }
        switch response.status.code {
        case 200: break
        case 404, 410: throw FeedError.noInput(path: "\(self)", reason: "HTTP status \(response.status)")
        default: throw FeedError.unavailable(url: "\(self)", reason: "HTTP status \(response.status)")
        }
        var chunks = response.body.makeAsyncIterator()
        while let buffer = try await fetching({ try await chunks.next() }) {
            try await body(Array(buffer.readableBytesView))
        }
    }

    private func request(_ url: String) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: url.withoutUserInfo)
        if let (user, password) = url.userInfo { request.setBasicAuth(username: user, password: password) }
        request.headers.add(name: "user-agent", value: "quakes (earthquake feed importer)")
        request.headers.add(name: "accept", value: "application/geo+json, application/json")
        request.headers.add(name: "accept-encoding", value: "gzip")
        return request
    }

    /// Turns the client's errors into one that names the feed.
    nonisolated(nonsending)
        private func fetching<Value>(_ body: () async throws -> Value) async throws -> Value
    {
        do {
            return try await body()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // The client reports a cancelled task as its own error.
            try Task.checkCancellation()
            throw FeedError.unavailable(url: "\(self)", reason: Self.reason(for: error))
        }
    }

    private static func reason(for error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { reason(for: $0.error) } ?? "host \(error.host) not found"
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case HTTPParserError.invalidEOFState: "the connection ended before the feed did"
        case let error as HTTPClientError: reason(for: error)
        default: "\(error)"
        }
    }

    private static func reason(for error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout: "no connection within 10 seconds"
        case .deadlineExceeded: "no answer within 60 seconds"
        case .readTimeout: "nothing came for 60 seconds"
        case .remoteConnectionClosed: "the connection ended before the feed did"
        case .redirectCycleDetected: "it redirects in a circle"
        case .redirectLimitReached: "it redirects more than 5 times"
        case .invalidURL, .emptyHost, .emptyScheme: "not a valid URL"
        default: "\(error)"
        }
    }
}

private enum ReadResult: Sendable {
    /// An empty chunk is the end.
    case bytes([UInt8])
    case notReady
    case failure(Int32)
}

/// Reads what is there, or returns after a quarter of a second so that the caller can look at cancellation.
private func readWhenReady(_ descriptor: Int32) -> ReadResult {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, 250) > 0 else { return .notReady }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 256 << 10) { buffer, count in
        let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        count = max(0, result)
        if result < 0 { failure = errno }
    }
    return switch failure {
    case 0: .bytes(bytes)
    case EINTR, EAGAIN: .notReady
    default: .failure(failure)
    }
}
