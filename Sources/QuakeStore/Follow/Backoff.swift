/// How long to wait before the next attempt: longer each time, at random, so that many clients of one server do not come
/// back all at once.
public struct Backoff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    private var limit: Duration

    public init(from shortest: Duration, to longest: Duration) {
        self.shortest = shortest
        self.longest = longest
        limit = shortest
    }

    /// The next wait: between half the limit and the limit, which doubles from the shortest to the longest.
    public mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        defer { limit = min(limit * 2, longest) }
        return limit * Double.random(in: 0.5...1, using: &random)
    }

    /// After a success it starts anew.
    public mutating func reset() {
        limit = shortest
    }
}
