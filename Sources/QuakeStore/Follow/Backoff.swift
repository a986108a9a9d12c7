/// How long to wait before the next attempt to connect: longer each time, at random, so that many readers of one
/// server do not come back all at once. A time that went well makes it start anew.
struct Backoff: Sendable {
    static let shortest: Duration = .milliseconds(500)
    static let longest: Duration = .seconds(30)
    /// A connection that has lived so long was healthy.
    static let healthy: Duration = .seconds(60)

    private var limit = Self.shortest

    /// The wait after a connection that lived for `lifetime`: between half the limit and the limit, which doubles
    /// from 0.5 s to 30 s.
    mutating func next(
        after lifetime: Duration, using random: inout some RandomNumberGenerator
    ) -> Duration {
        if lifetime >= Self.healthy { limit = Self.shortest }
        defer { limit = min(limit * 2, Self.longest) }
        return limit * Double.random(in: 0.5...1, using: &random)
    }
}
