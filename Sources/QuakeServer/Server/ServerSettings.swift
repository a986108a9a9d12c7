/// How the server answers, and how much of anything it allows.
public struct ServerSettings: Sendable {
    /// What the URLs that it writes begin with, such as `https://quakes.example.org`, without a slash at the end. If it is
    /// nil, they begin with what the client has asked for.
    public var baseURL: String?
    /// The path in it, such as `/quakes`; empty without one.
    var basePath: String {
        guard let baseURL, let path = baseURL.split(separator: "/", maxSplits: 2).dropFirst(2).first else {
            return ""
        }
        return "/\(path)"
    }
    public var version: String
    public var maxEvents = 20_000
    /// How old the state of the catalogue may be of which a client is told that nothing has changed. It is asked for every
    /// few seconds.
    public var stateAge = Duration.seconds(15)
    public var sessions = 4
    public var waitingRequests = 200
    /// How many connections clients may hold. Further ones wait to be accepted.
    public var connections = 10_000
    public var streams = 8000
    /// How many connections one client address may hold, and how many streams.
    public var perAddress = 500
    /// How many costly questions one client address may have under way, those that wait included.
    public var costlyPerAddress = 8
    /// Whose word about the address of a client counts.
    public var trustedProxies = TrustedProxies()
    /// Whether `/changes` and `/history` tell who made a change: its author and its context.
    public var namesAuthors = true
    /// After how long a silence a client that follows is shown that the stream is alive.
    public var heartbeat = Duration.seconds(15)
    /// How many bytes of changes are kept for clients that follow, and how many one pass may have to be kept at all.
    public var passSize = 64 << 20
    public var passTime = Duration.seconds(120)
    /// How many bytes may wait in temporary files. Beyond that, the slowest client goes.
    public var spooledBytes = 1 << 30
    /// The length of a request's target, in bytes. The limit is the standard's of the event service.
    public var targetLength = 2000
    public var headSize = 16 << 10
    static let headFields = 100
    /// How long a client may take to send a request, or to send the next one.
    public var idleTime = Duration.seconds(60)
    /// How long a client may take to read a piece of what is sent to it, at most 64 KiB.
    public var readTime = Duration.seconds(30)
    /// How long to keep a connection whose client has closed one side before the answer begins: the client may still be waiting
    /// for it.
    public var halfClosedTime = Duration.seconds(5)
    /// How long to discard what a client still sends after the last answer, so that it can read that one.
    public var lingeringTime = Duration.seconds(5)
    public var statementTime = Duration.seconds(60)
    /// How long the database may work on what is known to be long: a snapshot, or a long stretch of the history.
    public var costlyTime = Duration.seconds(300)
    /// From how many changes on a stretch of the history is long.
    public var longStretch = 10_000
    public var pollTime = Duration.seconds(60)
    /// How long a client waits for a hot standby that is behind the client's position, before it has to start over.
    public var behindTime = Duration.seconds(30)
    public var requestTime = Duration.seconds(600)
    /// How long the server still accepts clients after SIGTERM, while `/health` tells load balancers to stop sending them.
    public var drainTime = Duration.zero
    /// How long answers under way may take after that.
    public var endingTime = Duration.seconds(5)

    public init(version: String) {
        self.version = version
    }
}
