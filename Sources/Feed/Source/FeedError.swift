/// Why a feed could not be read.
public enum FeedError: Error, Sendable, Equatable {
    /// The document is in an unknown form, or it ends too early. The offset is in bytes from the start of
    /// the inflated document.
    case brokenDocument(reason: String, offset: Int)
    /// The compressed data are damaged, or inflate beyond the limit. The offset is in compressed bytes.
    case brokenCompression(reason: String, offset: Int)
    /// The file does not exist or can't be read, or the server says that the URL does not exist (404, 410).
    case noInput(path: String, reason: String)
    /// The feed's server can't be reached, or does not deliver. `status` is the HTTP status, if there was an answer.
    /// `retryAfter` is how long the server asks clients to wait, counted from its last answer.
    case unavailable(url: String, reason: String, status: Int? = nil, retryAfter: Duration? = nil)
}

extension FeedError {
    /// The HTTP status with which the feed's server refused the request; nil for everything else, such as `noInput`.
    public var status: Int? {
        if case .unavailable(_, _, let status, _) = self { status } else { nil }
    }
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
