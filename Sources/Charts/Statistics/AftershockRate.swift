import Glibc

/// The rate of aftershocks over time, as in `report.aftershock_rate`: five bins per decade of time from a thousandth of a day,
/// and one bin before them.
public struct AftershockRate: Sendable {
    public struct Bin: Sendable, Equatable {
        /// Days after the mainshock.
        public let from: Double
        public let to: Double
        public let count: Int

        public var perDay: Double { Double(count) / (to - from) }
    }

    public let bins: [Bin]
    /// Omori's law, rate = K t^−p. The fit begins with the last bin that has at least half of the highest rate, because
    /// catalogues miss many small aftershocks before that. nil if fewer than ten aftershocks remain.
    public let omori: Omori?

    /// Omori's law without its constant c, which matters only for the first minutes.
    public struct Omori: Sendable {
        /// Aftershocks per day, one day after the mainshock.
        public let k: Double
        public let p: Double
        public let standardError: Double
        /// The fitted time range, in days after the mainshock.
        public let from: Double
        public let to: Double
    }

    public init(_ days: [Double], observed: Double) {
        var bins: [Bin] = []
        for k in -16...30 {
            let from = k == -16 ? 0 : pow(10, Double(k) / 5)
            guard from < observed else { break }
            let to = min(pow(10, Double(k + 1) / 5), observed)
            bins.append(Bin(from: from, to: to, count: days.count { $0 > from && $0 <= to }))
        }
        self.bins = bins
        // The rate of a bin with fewer than five aftershocks is too uncertain.
        let known = bins.dropFirst().filter { $0.count >= 5 }
        let highest = known.map(\.perDay).max() ?? 0
        omori = known.last { $0.perDay >= highest / 2 }.flatMap {
            Self.fit(days, from: $0.from, to: observed)
        }
    }

    /// Fits by maximum likelihood: between the two times, ln t has an exponential distribution with the rate p − 1, truncated at
    /// both ends. The expected mean of this distribution decreases as p grows, so bisection finds the p for which the expected
    /// mean equals the observed mean.
    private static func fit(_ days: [Double], from: Double, to: Double) -> Omori? {
        let logarithms = days.filter { $0 > from && $0 <= to }.map { log($0 / from) }
        guard logarithms.count >= 10 else { return nil }
        let n = Double(logarithms.count)
        let mean = logarithms.reduce(0, +) / n
        let length = log(to / from)
        var (low, high) = (-10.0, 10.0)
        for _ in 0..<80 {
            let middle = (low + high) / 2
            if moments(middle - 1, length).mean > mean { low = middle } else { high = middle }
        }
        let p = (low + high) / 2
        // K follows from the number of aftershocks: n is the integral of the rate.
        let integral = abs(p - 1) < 1e-9 ? length : (pow(to, 1 - p) - pow(from, 1 - p)) / (1 - p)
        let error = 1 / (n * moments(p - 1, length).variance).squareRoot()
        return Omori(k: n / integral, p: p, standardError: error, from: from, to: to)
    }

    /// The moments of an exponential distribution, truncated to the range from 0 to `length`. The rate may be negative.
    private static func moments(_ rate: Double, _ length: Double) -> (mean: Double, variance: Double) {
        let x = rate * length
        // Near zero, the closed forms lose precision by cancellation, so their series are used.
        if abs(x) < 1e-3 {
            return (length * (0.5 - x / 12), length * length / 12 * (1 - x * x / 20))
        }
        let mean = 1 / rate - length / (exp(x) - 1)
        let half = sinh(x / 2)
        return (mean, 1 / (rate * rate) - length * length / (4 * half * half))
    }
}
