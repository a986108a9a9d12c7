import Glibc
import NIOPosix

extension FeedSource {
    /// Reads the feed from its beginning to its end and hands over its inflated bytes, chunk by chunk. The source
    /// waits while `body` works.
    ///
    /// Over HTTP, a feed that the server says is still what `validators` name is not handed over at all. An attempt that
    /// fails is repeated, but never once a byte has been handed over: what came then stays the beginning of a feed whose
    /// end is missing.
    ///
    /// - Throws: `FeedError`, `CancellationError`, what `body` throws.
    @discardableResult
    public func read(
        unlessStill validators: Validators? = nil, options: FetchOptions = FetchOptions(),
        _ body: ([UInt8]) async throws -> Void
    ) async throws -> FetchResult {
        var decoder = ContentDecoder(limit: options.inflatedLimit)
        switch self {
        case .standardInput:
            try await readDescriptor(STDIN_FILENO) { try await decoder.decode($0, body) }
        case .file(let path):
            let descriptor = try openFile(path)
            defer { Glibc.close(descriptor) }
            try await readDescriptor(descriptor) { try await decoder.decode($0, body) }
        case .url(let url):
            return try await HTTPFetch(url, unlessStill: validators, options: options).read(body)
        }
        try await decoder.finish(body)
        return .document(nil, freshFor: nil)
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

    private func readDescriptor(_ descriptor: Int32, _ body: ([UInt8]) async throws -> Void) async throws {
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
