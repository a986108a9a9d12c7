/// Decides which failures to log. A process that tries again and again fails many times for the same reasons.
public struct RepeatedFailure: Sendable {
    private var said: [String: ContinuousClock.Instant] = [:]

    static let interval: Duration = .seconds(300)

    public init() {}

    /// Whether anything has failed since the last success.
    public var isFailing: Bool { !said.isEmpty }

    /// Whether to log a failure. The same failure is logged again only after five minutes, or after a success.
    public mutating func isToBeSaid(_ text: String, now: ContinuousClock.Instant = .now) -> Bool {
        if let last = said[text], now - last < Self.interval { return false }
        said = said.filter { now - $0.value < Self.interval }
        said[text] = now
        return true
    }

    /// Call it after a success, so that the next failure counts as new.
    public mutating func reset() { said = [:] }
}
