import ArgumentParser

/// A duration as people write it: `90s`, `15m`, `2h`, `7d`, `2w`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration
    /// As it was written.
    let defaultValueDescription: String

    init?(argument: String) {
        defaultValueDescription = argument
        let seconds = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = argument.last.flatMap({ seconds[String($0)] }),
            let number = Double(argument.dropLast()), number >= 0, number * Double(unit) < 1e10
        else { return nil }
        duration = .seconds(number * Double(unit))
    }
}

extension Duration {
    /// In seconds: to the hundredth below a minute, otherwise whole.
    var formatted: String {
        let seconds = self / .seconds(1)
        return seconds < 60 ? "\((seconds * 100).rounded() / 100) s" : "\(Int(seconds.rounded())) s"
    }

    /// For people, with one or two units: `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`.
    var rough: String {
        let seconds = max(0, Int((self / .seconds(1)).rounded()))
        let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        let first = units.firstIndex { seconds >= $0.0 } ?? 3
        return units[first...].prefix(2).enumerated().compactMap { index, unit in
            let count = (index == 0 ? seconds : seconds % units[first].0) / unit.0
            return count > 0 || index == 0 ? "\(count) \(unit.1)" : nil
        }.joined(separator: " ")
    }
}
