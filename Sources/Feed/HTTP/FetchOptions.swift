import FoundationEssentials

/// How a feed is fetched over HTTP. For files and standard input, only `inflatedLimit` and `arrived` have an effect.
public struct FetchOptions: Sendable {
    public var attempts = 4
    /// The wait before the second attempt. It doubles with each attempt, and is shortened at random by up to half.
    public var firstWait = Duration.seconds(1)
    public var longestWait = Duration.seconds(30)
    /// The longest wait that a server may ask for (`Retry-After`). If it asks for more, the fetch fails.
    public var retryAfterLimit = Duration.seconds(120)

    /// The time limit for the connection to be ready for use, proxy and TLS included.
    public var connectTimeout = Duration.seconds(10)
    /// The time limit for the head of the response to arrive.
    public var headTimeout = Duration.seconds(60)
    /// The longest time that a server may be silent within a body. The time that the reader takes does not count.
    public var readTimeout = Duration.seconds(60)
    /// The greatest inflated size of gzip data, in bytes. Data that inflate to more count as a bomb.
    public var inflatedLimit = GzipDecoder.defaultLimit

    /// A PEM file of authorities to trust in addition to the system's.
    public var authorities: String?
    public var proxies = ProxySettings(environment: ProcessInfo.processInfo.environment)
    /// The project's version, for the User-Agent.
    public var version: String?
    /// An address or a URL at which a service's operators can reach the user, for the User-Agent.
    public var contact: String?

    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The clock that measures the time limits.
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// A random number from 0 up to, but not including, 1.
    package var random: @Sendable () -> Double = { .random(in: 0..<1) }

    /// Called whenever bytes of a feed have arrived, before they are inflated.
    public var arrived: @Sendable (Arrival) -> Void = { _ in }

    public init() {}
}

/// How much of a feed has arrived, in bytes as stored or sent, before inflation.
public struct Arrival: Sendable, Equatable {
    public var bytes = 0
    /// The size of the file, or the response's Content-Length; nil if unknown.
    public var length: Int?

    public init(bytes: Int = 0, length: Int? = nil) {
        self.bytes = bytes
        self.length = length
    }
}

/// The values that identify the version of a feed that a server has sent (RFC 9110, section 8.8). Both values are opaque, weak
/// ETags included: they are sent back unchanged.
///
/// They belong to the requested URL, even if the server redirects the request.
public struct Validators: Sendable, Equatable {
    public var etag: String?
    public var lastModified: String?

    public init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }
}

/// The result of reading a feed. `freshFor` is how long the feed will stay unchanged, according to the server
/// (`Cache-Control: max-age`); nil if the server does not say.
public enum FetchResult: Sendable, Equatable {
    case document(Validators?, freshFor: Duration?)
    /// The feed has not changed since the validators were taken. No bytes were read.
    case notModified(freshFor: Duration?)
}
