import Feed

extension Axis {
    /// An axis of times in milliseconds since 1970, with ticks at whole minutes, hours, days, months or years in UTC. If the
    /// labels do not show the year, the title does.
    static func time(_ times: ClosedRange<Double>) -> Axis {
        let lower = times.lowerBound
        let upper = max(times.upperBound, lower + 60_000)
        let step = TimeStep.all.first { (upper - lower) / $0.length <= 8 } ?? .months(12_000)
        let ticks = step.instants(from: lower, through: upper).map {
            Tick(value: Double($0.milliseconds), label: step.label($0))
        }
        let first = CivilDate(Instant(milliseconds: Int64(lower)))
        let last = CivilDate(Instant(milliseconds: Int64(upper)))
        var title = "Origin time (UTC)"
        switch step {
        case .minutes:
            title += ", \(first.words)"
            if last != first { title += " – \(last.words)" }
        case .days: title += ", " + (first.year == last.year ? "\(first.year)" : "\(first.year)–\(last.year)")
        case .months: break
        }
        return Axis(title, lower...upper, ticks: ticks)
    }
}

enum TimeStep {
    case minutes(Int)
    case days(Int)
    case months(Int)

    static let all: [TimeStep] =
        [1, 5, 10, 30, 60, 180, 360, 720].map { .minutes($0) } + [1, 2, 5, 10].map { .days($0) }
        + [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000].map { .months($0) }

    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The average length in milliseconds.
    var length: Double {
        switch self {
        case .minutes(let count): Double(count) * 60_000
        case .days(let count): Double(count) * 86_400_000
        case .months(let count): Double(count) / 12 * 365.25 * 86_400_000
        }
    }

    func instants(from lower: Double, through upper: Double) -> [Instant] {
        var instants: [Instant] = []
        func add(_ instant: Instant) {
            if (lower...upper).contains(Double(instant.milliseconds)) { instants.append(instant) }
        }
        let first = CivilDate(Instant(milliseconds: Int64(lower)))
        let last = CivilDate(Instant(milliseconds: Int64(upper)))
        switch self {
        case .minutes(let count):
            for time in stride(from: first.start.milliseconds, through: Int64(upper), by: count * 60_000) {
                add(Instant(milliseconds: time))
            }
        case .days(let count):
            for day in first.daysSince1970...last.daysSince1970 {
                let date = CivilDate(daysSince1970: day)
                // Days are counted from the start of each month. Ticks near the end of a month are left out, because their labels
                // would touch the next label.
                if (date.day - 1) % count == 0, count < 5 || date.day < 30 { add(date.start) }
            }
        case .months(let count):
            for month in first.year * 12 + first.month - 1...last.year * 12 + last.month - 1
            where month % count == 0 {
                if let date = CivilDate(year: month / 12, month: month % 12 + 1, day: 1) { add(date.start) }
            }
        }
        return instants
    }

    func label(_ instant: Instant) -> String {
        let date = CivilDate(instant)
        switch self {
        case .minutes: return String(instant.shortText.dropFirst(instant.shortText.count - 8).prefix(5))
        case .days: return "\(date.day) \(Self.months[date.month - 1])"
        case .months(let count):
            return count % 12 == 0 ? "\(date.year)" : "\(Self.months[date.month - 1]) \(date.year)"
        }
    }
}
