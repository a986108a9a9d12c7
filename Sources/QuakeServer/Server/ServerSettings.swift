/// How the server answers, and its limits.
public struct ServerSettings: Sendable {
    /// The beginning of all URLs that the server writes, such as `https://quakes.example.org`, without a slash at the end. If it
    /// is nil, the URLs begin with the host that the client's request names.
    public var baseURL: String?
    /// The path of `baseURL`, such as `/quakes`; empty if it has none.
    var basePath: String {
        guard let baseURL, let path = baseURL.split(separator: "/", maxSplits: 2).dropFirst(2).first else {
            return ""
        }
        return "/\(path)"
    }
    public var version: String
    public var maxEvents = 20_000
    /// The greatest age of the known state at which the server answers 304 without asking the database. The state is read every
    /// few seconds.
    public var stateAge = Duration.seconds(15)
    public var sessions = 4
    public var waitingRequests = 200
    /// The greatest number of clients' connections. Further connections wait to be accepted.
    public var connections = 10_000
    public var streams = 8000
    /// The greatest number of connections that one client address may have. The same number limits the streams of one address.
    public var perAddress = 500
    /// The greatest number of costly requests that one client address may have under way, including the requests that wait.
    public var costlyPerAddress = 8
    /// The proxies that are trusted to name the addresses of clients in `X-Forwarded-For`.
    public var trustedProxies = TrustedProxies()
    /// Whether `/changes` and `/history` show the author and the context of a change.
    public var namesAuthors = true
    /// The time without any bytes after which a stream gets a heartbeat. The heartbeat shows the client that the stream is alive.
    public var heartbeat = Duration.seconds(15)
    /// The greatest total size of the passes that are kept for live clients, in bytes. A single pass that is larger than this is
    /// not kept at all.
    public var passSize = 64 << 20
    public var passTime = Duration.seconds(120)
    /// The greatest number of bytes that may wait in temporary files. Beyond that, slow clients are disconnected.
    public var spooledBytes = 1 << 30
    /// The greatest length of a request's target, in bytes. The default is the limit in the standard of the event service.
    public var targetLength = 2000
    public var headSize = 16 << 10
    static let headFields = 100
    /// How long a client may take to send its first request, or the next one.
    public var idleTime = Duration.seconds(60)
    /// How long a client may take to read a piece of an answer. A piece usually has at most 64 KiB.
    public var readTime = Duration.seconds(30)
    /// After a client has closed its sending side, the answer must begin within this time; otherwise the connection is closed.
    /// The client may still be waiting for the answer.
    public var halfClosedTime = Duration.seconds(5)
    /// How long to keep a connection open after its last answer, so that the client can read that answer. Bytes that the client
    /// still sends are discarded.
    public var lingeringTime = Duration.seconds(5)
    /// How long the database may work on a short request. After this time, the request is repeated as a costly one.
    public var shortTime = Duration.seconds(2)
    public var statementTime = Duration.seconds(60)
    /// How long the database may work on a request that is known to take long: a snapshot, or a long stretch of the history.
    public var costlyTime = Duration.seconds(300)
    /// The number of changes above which a stretch of the history counts as long.
    public var longStretch = 10_000
    public var pollTime = Duration.seconds(60)
    /// How long a client waits for a hot standby that is behind the client's position, before the client has to start over.
    public var behindTime = Duration.seconds(30)
    public var requestTime = Duration.seconds(600)
    /// How long the server still accepts clients after SIGTERM, while `/health` tells load balancers to send no more clients.
    public var drainTime = Duration.zero
    /// How long answers under way may still take after the drain time.
    public var endingTime = Duration.seconds(5)

    public init(version: String) {
        self.version = version
    }
}
