/// Why a feed could not be read. Each text names the subject and, where there is one, the remedy.
public enum FeedError: Error, Sendable, Equatable {
    /// The document as a whole is no GeoJSON FeatureCollection, or ends too early. The offset counts bytes from the
    /// start of the inflated document.
    case brokenDocument(reason: String, offset: Int)
    /// The compressed data are damaged or inflate beyond the limit. The offset counts compressed bytes.
    case brokenCompression(reason: String, offset: Int)
    /// There is no such file, or it can't be read.
    case noInput(path: String, reason: String)
    /// The feed's server can't be reached or does not deliver. The HTTP status, when it came to one; and how long the
    /// server asks to be left alone, counted from its last answer.
    case unavailable(url: String, reason: String, status: Int? = nil, retryAfter: Duration? = nil)
}

extension FeedError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .brokenDocument(let reason, let offset): "broken document: \(reason), at byte \(offset)"
        case .brokenCompression(let reason, let offset):
            "broken gzip data: \(reason), at compressed byte \(offset)"
        case .noInput(let path, let reason): "cannot read \(path): \(reason)"
        case .unavailable(let url, let reason, _, _): "cannot fetch \(url): \(reason)"
        }
    }
}
