import Glibc

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
        ifChangedSince validators: Validators? = nil, options: FetchOptions = FetchOptions(),
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
            return try await HTTPFetch(url, ifChangedSince: validators, options: options).read(body)
        }
        try await decoder.finish(body)
        return .document(nil, freshFor: nil)
    }

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
        let reader = DescriptorReader(descriptor)
        while true {
            let bytes: [UInt8]
            do {
                bytes = try await reader.read()
            } catch let error as DescriptorReader.SystemError {
                throw noInput(error.code)
            }
            if bytes.isEmpty { return }
            try await body(bytes)
        }
    }

    private func noInput(_ error: Int32) -> FeedError {
        .noInput(
            path: self == .standardInput ? "standard input" : "\(self)",
            reason: String(cString: strerror(error)))
    }
}
