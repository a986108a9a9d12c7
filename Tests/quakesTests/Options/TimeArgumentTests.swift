import Feed
import TestSupport
import Testing

@testable import quakes

@Suite("Times on the command line")
struct TimeArgumentTests {
    private let now = Instant("2024-03-31T15:30:20.250Z")!

    @Test(
        "A moment has the same beginning and end",
        arguments: [
            ("2014-04-15T12:00Z", "2014-04-15T12:00:00Z"),
            ("2014-04-15 12:00:01.5", "2014-04-15T12:00:01.500Z"),
            ("2014-04-15T12:00+02:00", "2014-04-15T10:00Z"), ("now", "2024-03-31T15:30:20.250Z"),
            ("90s", "2024-03-31T15:28:50.250Z"), ("15m", "2024-03-31T15:15:20.250Z"),
            ("3h", "2024-03-31T12:30:20.250Z"), ("3 h ago", "2024-03-31T12:30:20.250Z"),
            ("3 Hours ago", "2024-03-31T12:30:20.250Z"), ("1.5d", "2024-03-30T03:30:20.250Z"),
            ("2w", "2024-03-17T15:30:20.250Z"), ("1mo", "2024-02-29T15:30:20.250Z"),
            ("13 months", "2023-02-28T15:30:20.250Z"), ("1y", "2023-03-31T15:30:20.250Z"),
            ("4 years ago", "2020-03-31T15:30:20.250Z"),
        ])
    func moments(text: String, expected: String) throws {
        let time = try #require(TimeArgument(text, now: now))
        #expect(time.instant == Instant(expected))
        #expect(time.end == time.instant)
    }

    @Test(
        "A day, a month and a year have a beginning and an end, in UTC",
        arguments: [
            ("2014-04-15", "2014-04-15", "2014-04-16"), ("2014-12-31", "2014-12-31", "2015-01-01"),
            ("2016-02", "2016-02-01", "2016-03-01"), ("2014-12", "2014-12-01", "2015-01-01"),
            ("2014", "2014-01-01", "2015-01-01"), ("0001", "0001-01-01", "0002-01-01"),
            ("today", "2024-03-31", "2024-04-01"), ("Yesterday", "2024-03-30", "2024-03-31"),
        ])
    func periods(text: String, start: String, end: String) throws {
        let time = try #require(TimeArgument(text, now: now))
        #expect(time.instant == Instant(start))
        #expect(time.end == Instant(end))
    }

    @Test(
        "Any other text is refused",
        arguments: [
            "", "h", "3", "-3h", "3 x", "2014-13", "2014-02-30", "2014-4", "14", "tomorrow", "ago",
            "3h ago ago",
            "1.5mo", "3M", "3M ago", "9999999999999999d", "3000y", "２０１４",
        ])
    func refused(text: String) {
        #expect(TimeArgument(text, now: now) == nil)
    }
}
