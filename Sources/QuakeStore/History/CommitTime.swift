import Feed

/// When a transaction was committed, with the full precision of the history, because many transactions may be committed within
/// one millisecond.
public struct CommitTime: Sendable, Equatable, CustomStringConvertible {
    /// The microseconds since 1970, in UTC.
    public let microseconds: Int

    /// The time, cut to the millisecond.
    public var instant: Instant { Instant(milliseconds: Int64(microseconds).divided(by: 1000).whole) }

    /// In UTC, with six decimals of the second: `2026-11-23T04:05:06.123456Z`.
    public var description: String {
        let rest = "\(microseconds.divided(by: 1000).rest)"
        return "\(instant)".dropLast() + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
    }
}
