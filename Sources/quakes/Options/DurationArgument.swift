import ArgumentParser

/// A length of time as people write it: `90s`, `15 min`, `1.5h`, `2 weeks`, `1mo`.
struct TimeLength {
    /// Either `seconds` or `months` is 0.
    let seconds: Double
    let months: Double

    init?(_ text: some StringProtocol) {
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
}

struct DurationArgument: ExpressibleByArgument {
    let duration: Duration
    /// The duration as the user wrote it.
    let defaultValueDescription: String

    init?(argument: String) {
        guard let length = TimeLength(argument), length.months == 0, length.seconds < 1e10 else { return nil }
        duration = .seconds(length.seconds)
        defaultValueDescription = argument
    }
}

extension Duration {
    /// The duration in seconds: to the hundredth below a minute, otherwise in whole seconds.
    var formatted: String {
        let seconds = self / .seconds(1)
        return seconds < 60 ? "\((seconds * 100).rounded() / 100) s" : "\(Int(seconds.rounded())) s"
    }

    /// The duration for people, in one or two units: `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`, `7 y 131 d`.
    var rough: String {
        let seconds = max(0, Int((self / .seconds(1)).rounded()))
        let units = [(365 * 86_400, "y"), (86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        let first = units.firstIndex { seconds >= $0.0 } ?? 4
        return units[first...].prefix(2).enumerated().compactMap { index, unit in
            let count = (index == 0 ? seconds : seconds % units[first].0) / unit.0
            return count > 0 || index == 0 ? "\(count) \(unit.1)" : nil
        }.joined(separator: " ")
    }
}
