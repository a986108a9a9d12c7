import Glibc

/// The Gutenberg–Richter relation, log10 N = a − b M, fitted to earthquakes from any source, by the same rules as
/// `report.gutenberg_richter`.
///
/// Magnitudes are counted in bins of 0.1. If no completeness is given, it is estimated by maximum curvature (Wiemer and Wyss
/// 2000): the bin with the most earthquakes, or the one with the largest magnitude if several bins have the most. This estimate
/// is usually too low by about 0.2. If catalogues of different completeness are mixed, it can be far too low, so check
/// `fit.isGood`.
public struct GutenbergRichter: Sendable {
    /// The number of earthquakes in each bin. The key is the middle of the bin, in tenths of a magnitude.
    public let counts: [Int: Int]
    public let completeness: Int?
    let isCompletenessGiven: Bool
    /// The number of events that are not earthquakes, or have no magnitude.
    let leftOut: Int
    /// nil unless the earthquakes are in at least two bins.
    public let fit: Fit?
    /// The first fit that is good and has at least fifty earthquakes; nil if there is no such fit. The fit from `completeness` is
    /// tried first, and then the fits from larger bins in turn.
    public let good: Fit?

    public struct Fit: Sendable {
        public let from: Int
        public let count: Int
        /// The b-value by maximum likelihood (Aki 1965), with Utsu's correction for the bins.
        public let b: Double
        /// The standard error of b by Shi and Bolt (1982).
        public let standardError: Double
        public let a: Double
        /// The part of the cumulative numbers that the line explains, in percent (Wiemer and Wyss 2000).
        public let goodness: Double
        /// The largest difference between the observed and the expected share of earthquakes (Kolmogorov and Smirnov).
        public let distance: Double
        /// The largest difference in standard deviations. It also detects a bend among the few large earthquakes.
        public let deviation: Double

        /// Whether b is meaningful: the line explains at least 90 % of the numbers, passes the test of Kolmogorov and Smirnov at
        /// 5 %, and has no point more than three standard deviations away.
        public var isGood: Bool {
            goodness >= 90 && distance <= 1.36 / Double(count).squareRoot() && deviation <= 3
        }
    }

    /// - Parameter completeness: the magnitude from which the catalogue is complete; nil to estimate it.
    public init(_ events: [ChartEvent], completeness given: Double? = nil) {
        var counts: [Int: Int] = [:]
        for event in events where event.isEarthquake {
            if let magnitude = event.magnitude { counts[Self.bin(magnitude), default: 0] += 1 }
        }
        let mode = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        let complete = given.map(Self.bin) ?? mode
        self.counts = counts
        leftOut = events.count - counts.values.reduce(0, +)
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
        guard complete.count > 1, let largest = complete.keys.max() else { return nil }
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
            // The arcsine transformation gives all shares the same variance.
            let angles = asin((Double(left) / n).squareRoot()) - asin((expected / n).squareRoot())
            deviation = max(deviation, 2 * n.squareRoot() * abs(angles))
            left -= counts[tenths] ?? 0
        }
        return Fit(
            from: bin, count: number, b: b, standardError: log(10) * b * b * meanError,
            a: log10(n) + b * Double(bin) / 10, goodness: 100 - 100 * difference / observed,
            distance: farthest / n, deviation: deviation)
    }

    /// The bin of a magnitude, in tenths. The small addition keeps magnitudes such as 2.55, whose binary value is slightly
    /// smaller, in their bin.
    static func bin(_ magnitude: Double) -> Int {
        Int((magnitude * 10 + 0.500001).rounded(.down))
    }

    /// For each bin, the number of earthquakes in it and in all larger bins, the smallest bin first.
    var cumulative: [(bin: Int, count: Int)] {
        var sum = 0
        return counts.sorted { $0.key > $1.key }.map { bin, count in
            sum += count
            return (bin, sum)
        }.reversed()
    }
}
