/// A length of time as people write it: `90s`, `15 min`, `1.5h`, `2 weeks`, `1mo`.
public struct TimeLength {
    /// Either `seconds` or `months` is 0.
    public let seconds: Double
    public let months: Double

    /// - Returns: nil if the text is not a length of time.
    public init?(_ text: some StringProtocol) {
        // A single capital M could mean minutes or months.
        guard !text.hasSuffix("M") else { return nil }
        let form = /(\d+(?:[.]\d+)?) ?([a-z]+)/.asciiOnlyDigits()
        guard let match = text.lowercased().wholeMatch(of: form)?.output, let number = Double(match.1) else {
            return nil
        }
        switch match.2 {
        case "s", "sec", "second", "seconds": (seconds, months) = (number, 0)
        case "m", "min", "minute", "minutes": (seconds, months) = (number * 60, 0)
        case "h", "hour", "hours": (seconds, months) = (number * 3600, 0)
        case "d", "day", "days": (seconds, months) = (number * 86_400, 0)
        case "w", "week", "weeks": (seconds, months) = (number * 604_800, 0)
        case "mo", "month", "months": (seconds, months) = (0, number)
        case "y", "year", "years": (seconds, months) = (0, number * 12)
        default: return nil
        }
    }

    /// nil for months and years, whose lengths differ, and for more than about 300 years.
    public var duration: Duration? { months == 0 && seconds < 1e10 ? .seconds(seconds) : nil }
}
