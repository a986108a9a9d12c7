import Glibc

/// A scale with labels for the values in `range`.
struct Axis {
    struct Tick {
        let value: Double
        let label: String
    }

    let title: String
    let range: ClosedRange<Double>
    let isLogarithmic: Bool
    let ticks: [Tick]
    private(set) var minorTicks: [Double] = []
    /// Whether the lower end of the range is at the top, as on an axis of depths.
    private(set) var isDownward = false

    init(_ title: String, _ range: ClosedRange<Double>, ticks: [Tick], isLogarithmic: Bool = false) {
        (self.title, self.range, self.ticks) = (title, range, ticks)
        self.isLogarithmic = isLogarithmic
    }

    /// The position of a value, from 0 at the left or bottom end to 1 at the other end.
    func share(_ value: Double) -> Double {
        let share =
            isLogarithmic
            ? (log10(value) - log10(range.lowerBound)) / (log10(range.upperBound) - log10(range.lowerBound))
            : (value - range.lowerBound) / (range.upperBound - range.lowerBound)
        return isDownward ? 1 - share : share
    }

    /// An axis with ticks at multiples of 1, 2 or 5 times a power of ten. Its range is extended to the next ticks. For a single
    /// value, it is extended by at least 0.5 on each side.
    ///
    /// - Parameters:
    ///   - least: a value to which the range is extended. It is not extended further to the next tick.
    ///   - isTight: whether the range stays as it is, and is not extended.
    ///   - isDownward: whether the lower end of the range is at the top.
    static func linear(
        _ title: String, _ values: ClosedRange<Double>, reaching least: Double = .infinity,
        isTight: Bool = false, isDownward: Bool = false
    ) -> Axis {
        let isSingle = values.upperBound - values.lowerBound < 1e-6
        let shown = isSingle ? values.lowerBound - 0.5...values.upperBound + 0.5 : values
        let size = shown.upperBound - shown.lowerBound
        let power = pow(10, (log10(size / 6)).rounded(.down))
        let step = [1, 2, 5, 10].map { $0 * power }.first { size / $0 <= 7 } ?? 10 * power
        let first = Int((shown.lowerBound / step + 1e-9).rounded(.down))
        let last = max(first + 1, Int((shown.upperBound / step - 1e-9).rounded(.up)))
        let digits = max(0, Int((-log10(step) - 1e-9).rounded(.up)))
        let whole = isTight ? shown : Double(first) * step...Double(last) * step
        let range = min(whole.lowerBound, least)...whole.upperBound
        let lowest = min(first, Int((range.lowerBound / step - 1e-9).rounded(.up)))
        let ticks = (lowest...last).map {
            Tick(value: Double($0) * step, label: decimal(Double($0) * step, digits))
        }
        var axis = Axis(title, range, ticks: ticks.filter { range.contains($0.value) })
        axis.isDownward = isDownward
        return axis
    }

    /// An axis with ticks at powers of ten, from the power below the values to the power above them.
    ///
    /// - Parameter room: the lower end of the axis, as a fraction of the lowest power of ten; 1 for no extra room.
    static func logarithmic(_ title: String, _ values: ClosedRange<Double>, room: Double = 1) -> Axis {
        let first = Int(log10(values.lowerBound).rounded(.down))
        let last = max(first + 1, Int((log10(values.upperBound) - 1e-9).rounded(.up)))
        let powers = (first...last).map { ($0, pow(10, Double($0))) }
        var axis = Axis(
            title, powers[0].1 * room...powers[powers.count - 1].1,
            ticks: powers.map { exponent, value in
                Tick(value: value, label: decimal(value, max(0, -exponent)))
            }, isLogarithmic: true)
        axis.minorTicks = powers.dropLast().flatMap { power in (2...9).map { Double($0) * power.1 } }
        return axis
    }

    /// A number. If it has five or more digits before the point, spaces separate groups of three digits. Very large numbers,
    /// infinity and NaN are written as in Swift.
    static func decimal(_ value: Double, _ digits: Int) -> String {
        let scale = pow(10, Double(digits))
        guard abs(value) * scale < 1e18 else { return "\(value)" }
        let scaled = Int((abs(value) * scale).rounded())
        let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int(scale))
        var text = ""
        for (index, digit) in "\(whole)".enumerated() {
            // The SI recommends a thin space.
            if index > 0, ("\(whole)".count - index) % 3 == 0, whole >= 10_000 { text += "\u{2009}" }
            text.append(digit)
        }
        if digits > 0 {
            let rest = "\(fraction)"
            text += "." + String(repeating: "0", count: digits - rest.count) + rest
        }
        return (value < 0 && scaled != 0 ? "−" : "") + text
    }
}
