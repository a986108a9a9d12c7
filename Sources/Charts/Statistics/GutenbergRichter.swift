import Glibc

/// The Gutenberg–Richter relation, log10 N = a − b M, of some earthquakes: the same rule as `report.gutenberg_richter`, for
/// events from anywhere.
///
/// Magnitudes are counted in bins of 0.1. The completeness is that of maximum curvature (Wiemer and Wyss 2000), the bin with the
/// most earthquakes, of equal bins the larger; b is by maximum likelihood (Aki 1965), with Utsu's correction for the bins, and
/// its standard error by Shi and Bolt (1982).
public struct GutenbergRichter: Sendable {
    /// Earthquakes in each bin, by its middle in tenths of a magnitude.
    public let counts: [Int: Int]
    /// The bin from which on the relation holds, in tenths; nil without earthquakes.
    public let completeness: Int?
    /// Earthquakes in that bin and all larger ones.
    public let count: Int
    /// nil for fewer than two earthquakes, as are the next two.
    public let b: Double?
    public let standardError: Double?
    public let a: Double?

    public init(_ events: [ChartEvent]) {
        var counts: [Int: Int] = [:]
        for event in events where event.isEarthquake {
            if let magnitude = event.magnitude { counts[Self.bin(magnitude), default: 0] += 1 }
        }
        let mode = counts.max { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        let complete = counts.filter { $0.key >= mode ?? 0 }
        let number = complete.values.reduce(0, +)
        let first = complete.reduce(0) { $0 + $1.key * $1.value }
        let second = complete.reduce(0) { $0 + $1.key * $1.key * $1.value }
        self.counts = counts
        completeness = mode
        count = number
        guard let mode, number > 1 else {
            (b, standardError, a) = (nil, nil, nil)
            return
        }
        let n = Double(number)
        let b = log10(exp(1)) * 10 * n / (Double(first) - (Double(mode) - 0.5) * n)
        let meanError = (Double(number * second - first * first) / (100 * n * n * (n - 1))).squareRoot()
        self.b = b
        standardError = log(10) * b * b * meanError
        a = log10(n) + b * Double(mode) / 10
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
