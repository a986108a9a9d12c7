import ArgumentParser

/// A duration as people write it: `90s`, `15m`, `2h`, `7d`, `2w`.
struct DurationArgument: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
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
}
