import Feed

/// When a transaction was committed, as exactly as history has it: many may be committed within one millisecond.
public struct CommitTime: Sendable, Equatable, CustomStringConvertible {
    /// Since 1970.
    public let microseconds: Int

    /// Cut to the millisecond.
    public var instant: Instant { Instant(milliseconds: Int64(microseconds).floored(by: 1000).quotient) }

    /// In UTC, with six decimals of the second: `2026-11-23T04:05:06.123456Z`.
    public var description: String {
        let rest = "\(Int64(microseconds).floored(by: 1000).remainder)"
        return "\(instant)".dropLast() + String(repeating: "0", count: 3 - rest.count) + rest + "Z"
    }
}

extension Int64 {
    func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
