import Glibc

/// How often aftershocks come: five bins per decade of time from a thousandth of a day on, and one bin before them, as in
/// `report.aftershock_rate`.
public struct AftershockRate: Sendable {
    public struct Bin: Sendable, Equatable {
        /// Days after the mainshock.
        public let from: Double
        public let to: Double
        public let count: Int

        public var perDay: Double { Double(count) / (to - from) }
    }

    public let bins: [Bin]
    /// Omori's law, rate = K t^−p, from the last bin on whose rate is at least half of the highest: before that, catalogues miss
    /// many of the small ones. nil for fewer than ten aftershocks.
    public let omori: Omori?

    /// Omori's law without its constant c, which matters only for the first minutes.
    public struct Omori: Sendable {
        /// Aftershocks per day, one day after the mainshock.
        public let k: Double
        public let p: Double
        public let standardError: Double
        /// Days after the mainshock between which it was fitted.
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
        // Of fewer than five, the rate is too uncertain to be the highest.
        let known = bins.dropFirst().filter { $0.count >= 5 }
        let highest = known.map(\.perDay).max() ?? 0
        omori = known.last { $0.perDay >= highest / 2 }.flatMap {
            Self.fit(days, from: $0.from, to: observed)
        }
    }

    /// By maximum likelihood: between the two times, ln t is distributed exponentially with the rate p − 1, cut at both ends.
    /// So p is where the mean of ln t is what it should be, which falls as p grows.
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

    /// Of an exponential distribution with this rate, which may be negative, cut at 0 and `length`.
    private static func moments(_ rate: Double, _ length: Double) -> (mean: Double, variance: Double) {
        let x = rate * length
        // By their series where the closed forms cancel.
        if abs(x) < 1e-3 {
            return (length * (0.5 - x / 12), length * length / 12 * (1 - x * x / 20))
        }
        let mean = 1 / rate - length / (exp(x) - 1)
        let half = sinh(x / 2)
        return (mean, 1 / (rate * rate) - length * length / (4 * half * half))
    }
}
