import Glibc

extension FeedSource {
    /// Reads the feed from beginning to end, and calls `body` with its inflated bytes, chunk by chunk. No bytes are read while
    /// `body` runs.
    ///
    /// Over HTTP, `body` is not called if the server says that the feed has not changed since the validators were taken. A failed
    /// attempt is repeated only until `body` has received a byte. After that, the error is thrown.
    ///
    /// - Throws: `FeedError`, `CancellationError`, any error of `body`.
    @discardableResult
    public func read(
        ifChangedSince validators: Validators? = nil, options: FetchOptions = FetchOptions(),
        _ body: ([UInt8]) async throws -> Void
    ) async throws -> FetchResult {
        var decoder = ContentDecoder(limit: options.inflatedLimit)
        switch self {
        case .standardInput:
            try await readDescriptor(STDIN_FILENO, options) { try await decoder.decode($0, body) }
        case .file(let path):
            // O_NONBLOCK, because opening a FIFO without a writer would block, and could not be cancelled.
            let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw noInput(errno) }
            defer { Glibc.close(descriptor) }
            try await readDescriptor(descriptor, options) { try await decoder.decode($0, body) }
        case .url(let url):
            return try await HTTPFetch(url, ifChangedSince: validators, options: options).read(body)
        }
        try await decoder.finish(body)
        return .document(nil, freshFor: nil)
    }

    /// Reads at most this many bytes of the feed. The rest is not transferred.
    ///
    /// - Throws: `FeedError`, `CancellationError`.
    public func beginning(_ count: Int, options: FetchOptions) async throws -> [UInt8] {
        struct Enough: Error {}
        var bytes: [UInt8] = []
        do {
            try await read(options: options) { chunk in
                bytes += chunk.prefix(count - bytes.count)
                if bytes.count == count { throw Enough() }
            }
        } catch is Enough {}
        return bytes
    }

    /// The error if the source is a file that does not exist; nil otherwise.
    public var missingFile: FeedError? {
        guard case .file(let path) = self, access(path, F_OK) != 0, errno == ENOENT else { return nil }
        return noInput(ENOENT)
    }

    private func readDescriptor(
        _ descriptor: Int32, _ options: FetchOptions, _ body: ([UInt8]) async throws -> Void
    ) async throws {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw noInput(errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw noInput(EISDIR) }
        // The length of a pipe is unknown.
        let isFile = status.st_mode & S_IFMT == S_IFREG
        var arrival = Arrival(length: isFile ? Int(status.st_size) : nil)
        let reader = DescriptorReader(descriptor)
        while true {
            let bytes: [UInt8]
            do {
                bytes = try await reader.read()
            } catch let error as DescriptorReader.SystemError {
                throw noInput(error.code)
            }
            if bytes.isEmpty { return }
            arrival.bytes += bytes.count
            options.arrived(arrival)
            try await body(bytes)
        }
    }

    private func noInput(_ error: Int32) -> FeedError {
        var reason = String(cString: strerror(error))
        if case .file(let path) = self, error == ENOENT,
            let feed = closestSpelling(of: path, among: Self.summaryFeeds)
        {
            reason += "; did you mean \(feed)?"
        }
        return .noInput(path: self == .standardInput ? "standard input" : "\(self)", reason: reason)
    }
}
