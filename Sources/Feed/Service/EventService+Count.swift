extension EventService {
    private static let longestCount = 1000

    /// - Returns: nil if the answer is not a number.
    /// - Throws: `FeedError`, `CancellationError`.
    public static func count(at url: String, options: FetchOptions) async throws -> Int? {
        var bytes: [UInt8] = []
        do {
            bytes = try await FeedSource.url(url).beginning(longestCount + 1, options: options)
        } catch let failure as FeedError where failure.status == 204 {
            return 0
        }
        guard bytes.count <= longestCount else { return nil }
        return String(decoding: bytes, as: UTF8.self)
            .firstMatch(of: #/^\s*(?:\{\s*"count"\s*:\s*)?(\d{1,12})/#).flatMap { Int($0.1) }
    }
}
