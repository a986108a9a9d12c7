import ArgumentParser
import Feed

struct DurationArgument: ExpressibleByArgument {
    let duration: Duration
    /// The duration as the user wrote it.
    let defaultValueDescription: String

    init?(argument: String) {
        guard let duration = TimeLength(argument)?.duration else { return nil }
        self.duration = duration
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

    /// The time since a moment for people: `12 s ago`, or `in 2 h 5 min` if the moment is still to come.
    var ago: String { self < .zero ? "in \((.zero - self).rough)" : "\(rough) ago" }
}
