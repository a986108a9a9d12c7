import Feed
import Testing

@Suite("Dates")
struct CivilDateTests {
    @Test(
        "A date some months later keeps its day, or is the last day of its month",
        arguments: [
            ("2024-01-31", 1, "2024-02-29"), ("2023-01-31", 1, "2023-02-28"),
            ("2024-03-31", -1, "2024-02-29"),
            ("2024-12-15", 1, "2025-01-15"), ("2024-01-15", -1, "2023-12-15"),
            ("2024-05-31", 12, "2025-05-31"),
            ("2024-02-29", -12, "2023-02-28"), ("0000-01-01", -1, "-0001-12-01"),
        ])
    func months(date: String, months: Int, expected: String) throws {
        let start = CivilDate(try #require(Instant(date)))
        #expect(start.adding(months: months).start == Instant(expected))
    }

    @Test("The date of a moment is in UTC, even before 1970")
    func dates() throws {
        for (text, year, month, day) in [
            ("1970-01-01", 1970, 1, 1), ("1969-12-31T23:59:59.999Z", 1969, 12, 31),
            ("2014-04-15T23:59Z", 2014, 4, 15), ("0001-01-01", 1, 1, 1),
        ] {
            #expect(CivilDate(try #require(Instant(text))) == CivilDate(year: year, month: month, day: day))
        }
        #expect(CivilDate(year: 2023, month: 2, day: 29) == nil)
    }
}
