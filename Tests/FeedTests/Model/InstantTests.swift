import Foundation
import TestSupport
import Testing

@testable import Feed

@Suite struct InstantTests {
    @Test func anInstantIsWrittenAndReadAsFoundationDoes() throws {
        var random = seededRandom()
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        for _ in 0..<20_000 {
            // The instants are in the years 1600 to 2399. In these years, Foundation's text is at most a millisecond too early
            // (see below).
            let instant = Instant(milliseconds: Int64(random.below(25_245_000_000_000)) - 11_676_096_000_000)
            let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
            let text = formatter.string(from: date)
            guard instant.description != text || Instant(text) != instant else { continue }
            // Foundation truncates milliseconds that binary fractions can't represent exactly.
            let shifted = Date(timeIntervalSince1970: (Double(instant.milliseconds) + 0.5) / 1000)
            #expect(instant.description == formatter.string(from: shifted))
            #expect(Instant(instant.description) == instant)
        }
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00.000Z", 0), ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T12:00:00.000Z", 951_825_600_000), ("1900-02-28T23:59:59.999Z", -2_203_891_200_001),
            ("2014-04-15T12:22:47.007Z", 1_397_564_567_007),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("0000-01-01T00:00:00.000Z", -62_167_219_200_000),
            ("10000-01-01T00:00:00.000Z", 253_402_300_800_000),
            ("-0001-12-31T23:59:59.999Z", -62_167_219_200_001),
        ] as [(String, Int64)])
    func anInstantIsWrittenToTheMillisecond(text: String, milliseconds: Int64) {
        #expect(Instant(milliseconds: milliseconds).description == text)
        if (0...253_402_300_799_999).contains(milliseconds) {
            #expect(Instant(text)?.milliseconds == milliseconds)
        }
    }

    @Test(arguments: [
        ("2014-04-15", "2014-04-15T00:00:00.000Z"), ("2014-04-15Z", "2014-04-15T00:00:00.000Z"),
        ("2014-04-15 12:22", "2014-04-15T12:22:00.000Z"),
        ("2014-04-15T12:22:47.5", "2014-04-15T12:22:47.500Z"),
        ("2014-04-15T12:22:47.123999", "2014-04-15T12:22:47.123Z"),
        ("2014-04-15T01:22:47+02:00", "2014-04-14T23:22:47.000Z"),
        ("2014-04-15T23:22:47-0930", "2014-04-16T08:52:47.000Z"), ("2016-02-29", "2016-02-29T00:00:00.000Z"),
    ])
    func shorterFormsAndOffsetsAreRead(text: String, meaning: String) {
        #expect(Instant(text)?.description == meaning)
    }

    @Test(arguments: [
        "", "x", "2014", "2014-04", "2014-13-01", "2014-00-01", "2014-04-00", "2014-04-31", "2015-02-29",
        "1900-02-29", "2014-04-15T24:00", "2014-04-15T12:60", "2014-04-15T12:22:60", "2014-04-15T12",
        "2014-4-15", "14-04-15",
        "2014-04-15T12:22:47.Z", "2014-04-15T12:22:47+2", "2014-04-15T12:22:47+24:00",
        "2014-04-15T12:22:47+02:60", "2014-04-15T12:22:47+02", "2014-04-15-02", "2014-04-15T12:22:47z",
        " 2014-04-15", "2014-04-15 ",
        "2014-04-15T12:22:47Zx", "2014-04-15T\u{0661}\u{0662}:22", "٢٠١٤-٠٤-١٥", "２０１４-04-15",
    ])
    func anInvalidDateIsRefused(text: String) {
        #expect(Instant(text) == nil)
    }
}
