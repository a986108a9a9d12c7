/// How long to wait before the next attempt. The waits grow, and are random, so that many clients of one server do not all try
/// again at the same time.
public struct Backoff: Sendable {
    /// The waits between attempts to reach the database.
    public static let reconnecting = Backoff(from: .milliseconds(250), to: .seconds(3))

    private let shortest: Duration
    private let longest: Duration
    private var limit: Duration

    public init(from shortest: Duration, to longest: Duration) {
        self.shortest = shortest
        self.longest = longest
        limit = shortest
    }

    /// The next wait, which is between half the limit and the limit. The limit doubles with each call. If `place` is 0, the wait
    /// is half the limit; if it is 1, the wait is the limit.
    public mutating func next(at place: Double = .random(in: 0..<1)) -> Duration {
        defer { limit = min(limit * 2, longest) }
        return limit * (0.5 + place / 2)
    }

    /// Call it after a success.
    public mutating func reset() {
        limit = shortest
    }
}
