import Feed
import PostgreSQL

extension Instant {
    /// Reads PostgreSQL's binary form of a `timestamptz`. The fraction of a millisecond is cut off.
    public init(microsecondsSince2000 microseconds: Int64) {
        self.init(milliseconds: microseconds.divided(by: 1000).whole + Self.of2000)
    }

    /// PostgreSQL's binary form of a time in milliseconds since 1970.
    @inline(__always)
    package static func microsecondsSince2000(_ milliseconds: Int64) -> Int64 {
        (milliseconds - of2000) * 1000
    }

    private static let of2000: Int64 = 946_684_800_000
}

extension Row {
    /// Reads a `timestamptz`, cut to the millisecond.
    public mutating func nextInstant() throws -> Instant? {
        try nextInteger().map { Instant(microsecondsSince2000: $0) }
    }
}

extension Instant: RowDecodable, BindableElement {
    public static let sqlTypes: [UInt32] = [sqlType]
    public static let sqlType = Parameter.timestamptz
    public static let arrayType = Parameter.timestamptzArray

    public static func next(in row: inout Row) throws -> Instant? { try CommitTime.next(in: &row)?.instant }

    public var parameter: Parameter {
        // An instant outside these limits is sent as a time that the server refuses (SQLSTATE 22008).
        let held = -9_000_000_000_000_000...9_000_000_000_000_000 as ClosedRange<Int64>
        return .time(
            microsecondsSince2000: held.contains(milliseconds)
                ? Self.microsecondsSince2000(milliseconds) : .max - 1)
    }
}

extension CommitTime: RowDecodable, Bindable {
    public static let sqlTypes: [UInt32] = [sqlType]
    public static let sqlType = Parameter.timestamptz

    public static func next(in row: inout Row) throws -> CommitTime? {
        try row.nextInteger().map { microseconds in
            // The smallest and the largest value stand for infinity.
            guard microseconds != .min, microseconds != .max else { throw RowError.other }
            return CommitTime(microseconds: Int(microseconds) + of2000)
        }
    }

    public var parameter: Parameter { .time(microsecondsSince2000: Int64(microseconds - Self.of2000)) }

    private static let of2000 = 946_684_800_000_000
}
