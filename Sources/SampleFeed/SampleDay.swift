/// The UTC year and day of the year (1…366), in the proleptic Gregorian calendar.
struct SampleDay {
    let year: Int
    let ofYear: Int

    init(milliseconds: Int) {
        let day = milliseconds.floorDivided(by: 86_400_000)
        var year = 1970 + day.floorDivided(by: day < 0 ? 365 : 366)
        while Self.start(of: year + 1) <= day { year += 1 }
        self.year = year
        ofYear = day - Self.start(of: year) + 1
    }

    /// Days from 1970-01-01 to the first of January of the year.
    private static func start(of year: Int) -> Int {
        let y = year - 1
        return y * 365 + y.floorDivided(by: 4) - y.floorDivided(by: 100) + y.floorDivided(by: 400) - 719_162
    }
}

extension Int {
    func floorDivided(by divisor: Int) -> Int { divided(by: divisor).whole }

    /// Rounded down, so that the rest is never negative.
    func divided(by divisor: Int) -> (whole: Int, rest: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
