extension EventService {
    /// Asks for a number of events.
    ///
    /// - Returns: nil if the answer is not a number.
    /// - Throws: `FeedError`, `CancellationError`.
    public static func count(at url: String, options: FetchOptions) async throws -> Int? {
        var bytes: [UInt8] = []
        do {
            try await FeedSource.url(url).read(options: options) { bytes += $0.prefix(1000) }
        } catch let failure as FeedError where failure.status == 204 {
            return 0
        }
        return String(decoding: bytes, as: UTF8.self)
            .firstMatch(of: #/^\s*(?:\{\s*"count"\s*:\s*)?(\d{1,12})/#).flatMap { Int($0.1) }
    }
}
