import Glibc

/// A moment in UTC, to the millisecond, as the feeds count it.
public struct Instant: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The moments that an event can have: the years 1 to 9999. In these years, dates have the form `2014-04-15`, so they sort as
    /// texts, and every report can add days to them. Even the oldest events in catalogues are centuries after the year 1.
    public static let possible =
        Instant(milliseconds: -62_135_596_800_000)...Instant(milliseconds: 253_402_300_799_999)

    public static func < (left: Instant, right: Instant) -> Bool {
        left.milliseconds < right.milliseconds
    }

    public static func + (instant: Instant, milliseconds: Int64) -> Instant {
        Instant(milliseconds: instant.milliseconds + milliseconds)
    }

    public static func - (instant: Instant, milliseconds: Int64) -> Instant { instant + -milliseconds }

    public static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
