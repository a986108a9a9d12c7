import Glibc

/// The Gutenberg–Richter relation, log10 N = a − b M, of some earthquakes: the same rule as `report.gutenberg_richter`, for
/// events from anywhere.
///
/// Magnitudes are counted in bins of 0.1. If no completeness is given, it is that of maximum curvature (Wiemer and Wyss 2000),
/// the bin with the most earthquakes, of equal bins the larger: too low by some 0.2, and by any amount where catalogues of
/// different completeness are mixed. So look at `fit.isGood`.
public struct GutenbergRichter: Sendable {
    /// Earthquakes in each bin, by its middle in tenths of a magnitude.
    public let counts: [Int: Int]
    public let completeness: Int?
    let isCompletenessGiven: Bool
    /// nil for fewer than two earthquakes.
    public let fit: Fit?
    /// The bin from which on the fit is good, with fifty earthquakes or more.
    public let good: Fit?

    public struct Fit: Sendable {
        public let from: Int
        public let count: Int
        /// By maximum likelihood (Aki 1965), with Utsu's correction for the bins.
        public let b: Double
        /// Of b, by Shi and Bolt (1982).
        public let standardError: Double
        public let a: Double
        /// How much of the cumulative numbers the line explains, in percent (Wiemer and Wyss 2000).
        public let goodness: Double
        /// The largest distance between the observed and the expected share, as Kolmogorov and Smirnov have it.
        public let distance: Double
        /// The largest distance in standard deviations of chance, which sees a bend among the few large ones.
        public let deviation: Double

        /// Below this, beyond the limit of Kolmogorov and Smirnov at 5 %, or with a point that chance does not put so far from
        /// the line, b says little.
        public var isGood: Bool {
            goodness >= 90 && distance <= 1.36 / Double(count).squareRoot() && deviation <= 3
        }
    }

    /// - Parameter completeness: the magnitude from which on the earthquakes are complete, if that is known.
    public init(_ events: [ChartEvent], completeness given: Double? = nil) {
        var counts: [Int: Int] = [:]
        for event in events where event.isEarthquake {
            if let magnitude = event.magnitude { counts[Self.bin(magnitude), default: 0] += 1 }
        }
        let mode = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        let complete = given.map(Self.bin) ?? mode
        self.counts = counts
        completeness = complete
        isCompletenessGiven = given != nil
        fit = complete.flatMap { Self.fit(counts, from: $0) }
        let larger = counts.keys.filter { $0 > complete ?? 0 }
        good = ([complete].compactMap(\.self) + larger).sorted().lazy
            .compactMap { Self.fit(counts, from: $0) }.first { $0.count >= 50 && $0.isGood }
    }

    private static func fit(_ counts: [Int: Int], from bin: Int) -> Fit? {
        let complete = counts.filter { $0.key >= bin }
        let number = complete.values.reduce(0, +)
        guard number > 1, let largest = complete.keys.max() else { return nil }
        let first = complete.reduce(0) { $0 + $1.key * $1.value }
        let second = complete.reduce(0) { $0 + $1.key * $1.key * $1.value }
        let n = Double(number)
        let b = log10(exp(1)) * 10 * n / (Double(first) - (Double(bin) - 0.5) * n)
        let meanError = (Double(number * second - first * first) / (100 * n * n * (n - 1))).squareRoot()
        var (left, observed, difference, farthest, deviation) = (number, 0.0, 0.0, 0.0, 0.0)
        for tenths in bin...largest {
            let expected = n * pow(10, -b * Double(tenths - bin) / 10)
            let apart = abs(Double(left) - expected)
            observed += Double(left)
            difference += apart
            farthest = max(farthest, apart)
            // The arcsine makes the variance of a share the same everywhere.
            let angles = asin((Double(left) / n).squareRoot()) - asin((expected / n).squareRoot())
            deviation = max(deviation, 2 * n.squareRoot() * abs(angles))
            left -= counts[tenths] ?? 0
        }
        return Fit(
            from: bin, count: number, b: b, standardError: log(10) * b * b * meanError,
            a: log10(n) + b * Double(bin) / 10, goodness: 100 - 100 * difference / observed,
            distance: farthest / n, deviation: deviation)
    }

    /// The bin of a magnitude in tenths. In binary, 2.55 is a little less than 2.55; the small addition keeps it in its bin.
    static func bin(_ magnitude: Double) -> Int {
        Int((magnitude * 10 + 0.500001).rounded(.down))
    }

    /// For each bin the number of earthquakes in it and all larger ones, the smallest bin first.
    var cumulative: [(bin: Int, count: Int)] {
        var sum = 0
        return counts.sorted { $0.key > $1.key }.map { bin, count in
            sum += count
            return (bin, sum)
        }.reversed()
    }
}
