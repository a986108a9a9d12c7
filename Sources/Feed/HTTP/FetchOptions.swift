import FoundationEssentials

/// How a feed is fetched over HTTP. Files and standard input know only the limit on the inflated size.
public struct FetchOptions: Sendable {
    /// How often a fetch is tried, as long as nothing of the feed has been handed over.
    public var attempts = 4
    /// The wait before the second attempt. It doubles with each further one, and is cut by up to a half at random.
    public var firstWait = Duration.seconds(1)
    public var longestWait = Duration.seconds(30)
    /// The longest wait that a server may ask for (`Retry-After`). One that asks for more is not asked again.
    public var retryAfterLimit = Duration.seconds(120)

    /// From the beginning to a connection that is ready for use, proxy and TLS included.
    public var connectTimeout = Duration.seconds(10)
    /// From the beginning to the head of the response.
    public var headTimeout = Duration.seconds(60)
    /// The silence within a body after which a server is given up. The time that the reader takes is not counted.
    public var readTimeout = Duration.seconds(60)
    /// Inflated beyond this many bytes, gzip data are taken as a bomb.
    public var inflatedLimit = GzipDecoder.defaultLimit

    /// A PEM file of certificate authorities that are trusted besides the system's.
    public var authorities: String?
    public var proxies = ProxySettings(environment: ProcessInfo.processInfo.environment)
    /// The project's version, for the User-Agent.
    public var version: String?

    /// Waits, and throws when cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// 0 up to 1.
    public var random: @Sendable () -> Double = { .random(in: 0..<1) }

    public init() {}
}

/// What a server named the state of a feed that it sent (RFC 9110, section 8.8). Both are opaque, weak ETags included:
/// they are sent back as they came.
///
/// They belong to the URL that was asked for, whatever it redirects to.
public struct Validators: Sendable, Equatable {
    public var etag: String?
    public var lastModified: String?

    public init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }
}

/// How the reading of a feed ended. `freshFor` says how long the server promises no news (`Cache-Control: max-age`);
/// nil when it says nothing.
public enum FetchResult: Sendable, Equatable {
    /// All of the feed was handed over.
    case document(Validators?, freshFor: Duration?)
    /// The feed is still what the validators name; nothing was handed over.
    case notModified(freshFor: Duration?)
}
