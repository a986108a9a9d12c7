import Glibc

/// Estimates the scatter of each agency from rows that are known to describe the same earthquake.
///
/// Only hard links decide which rows belong together. If closeness decided, the fit would only reproduce the limits of the
/// search. The hard links are ComCat's `ids` and EMSC's `auth`. Over time, `auth` names several agencies under the same id, so
/// the history of a row links these agencies.
///
/// The differences between two agencies have the variance σ²(first) + σ²(second). The variance for each pair of agencies is
/// estimated from the median difference, because a few bad solutions hardly change the median. Least squares then divides the
/// variances among the agencies. With only two agencies, each gets half.
public struct ScatterFit {
    /// A class of events: the agency's events from `magnitude` up to the magnitude of its next class.
    private struct Class: Hashable {
        let name: String
        let magnitude: Double
    }

    private struct Differences {
        var seconds: [Double] = []
        var kilometres: [Double] = []
        var magnitudes: [Double] = []
    }

    private enum Quantity: CaseIterable {
        case seconds
        case kilometres
        case magnitudes
    }

    /// The smallest number of pairs for which a class is fitted. If a class has fewer pairs, the fit of the agency's next class
    /// with smaller magnitudes applies to its events. If no class of an agency has enough pairs, all of its events are fitted as
    /// one class.
    private static let enough = 30

    private let parameters: Parameters
    private let breaks: [Double]
    private var fitted: [Class: Scatter] = [:]
    private var pairs: [Class: Int] = [:]

    /// - Parameters:
    ///   - links: sets of rows, or of past versions of rows. All rows of a set describe the same earthquake. A row that copies
    ///     another row of its set is not counted.
    ///   - parameters: the current parameters. The magnitudes in the scatter table's row for any agency (`*`) are the limits of
    ///     the classes.
    public init(_ links: [[Solution]], _ parameters: Parameters) {
        self.parameters = parameters
        breaks = (parameters.scatter.rows["*"] ?? []).map(\.magnitude).filter { $0 > -.infinity }
        let sets = links.map { Self.withoutCopies($0, parameters) }
        let bySize = sets.map(members(of:))
        let counts = Self.count(bySize)
        let small = Set(counts.keys.map(\.name)).subtracting(
            counts.filter { $0.value >= Self.enough }.map(\.key.name))
        let members = bySize.map { set in
            set.map { member in
                let isSmall = small.contains(member.group.name)
                let group = isSmall ? Class(name: member.group.name, magnitude: -.infinity) : member.group
                return Member(row: member.row, group: group)
            }
        }
        pairs = Self.count(members)
        fit(differences(members))
    }

    private static func withoutCopies(_ rows: [Solution], _ parameters: Parameters) -> [Solution] {
        var kept: [Solution] = []
        for row in rows {
            let isCopy = kept.contains { other in
                CopiedSolution.links(row, other, parameters) || CopiedSolution.links(other, row, parameters)
            }
            if !isCopy { kept.append(row) }
        }
        return kept
    }

    private struct Member {
        let row: Solution
        let group: Class
    }

    /// The rows of a set with their classes. The class depends on the median magnitude of the set. If it depended on each row's
    /// own magnitude, rows with a magnitude that is too small would count as small events.
    private func members(of set: [Solution]) -> [Member] {
        let magnitudes = set.compactMap(\.magnitude).filter(\.isFinite).sorted()
        let size = magnitudes.isEmpty ? -.infinity : magnitudes[magnitudes.count / 2]
        let magnitude = breaks.last { $0 <= size } ?? -.infinity
        return set.compactMap { row -> Member? in
            // An author may be any text. The table cannot name an author with a space.
            let author = row.author.map(parameters.network(ofAuthor:))
            let names = [author, row.network, row.agency].compactMap(\.self)
            guard let name = names.first(where: Parameters.isName) else { return nil }
            return Member(row: row, group: Class(name: name, magnitude: magnitude))
        }
    }

    private static func eachPair(_ sets: [[Member]], _ body: (Member, Member) -> Void) {
        for set in sets {
            for (index, member) in set.enumerated() {
                for other in set[(index + 1)...] where member.group.name != other.group.name {
                    body(member, other)
                }
            }
        }
    }

    private static func count(_ sets: [[Member]]) -> [Class: Int] {
        var counts: [Class: Int] = [:]
        eachPair(sets) { a, b in
            counts[a.group, default: 0] += 1
            counts[b.group, default: 0] += 1
        }
        return counts
    }

    private func differences(_ sets: [[Member]]) -> [[Class]: Differences] {
        var found: [[Class]: Differences] = [:]
        let comparison = Comparison(parameters)
        Self.eachPair(sets) { a, b in
            let (first, second) = (
                Located(a.row, agency: 0, parameters), Located(b.row, agency: 1, parameters)
            )
            let difference = comparison.difference(first, second)
            let key = a.group.name < b.group.name ? [a.group, b.group] : [b.group, a.group]
            found[key, default: Differences()].seconds.append(
                comparison.correctedSeconds(first, second))
            found[key, default: Differences()].kilometres.append(difference.kilometres)
            if let magnitudes = difference.magnitudes {
                found[key, default: Differences()].magnitudes.append(abs(magnitudes))
            }
        }
        return found
    }

    // MARK: The fit

    private mutating func fit(_ differences: [[Class]: Differences]) {
        // The sums are made in a fixed order, so that the result is the same to the last digit in every run.
        let keys = differences.keys.sorted { Self.order($0, $1) }
        var deviations: [Class: [Double]] = [:]
        for quantity in Quantity.allCases {
            var sums: [(a: Class, b: Class, variance: Double, count: Int)] = []
            for key in keys {
                guard let values = differences[key] else { continue }
                let (variance, count) = Self.variance(of: values, quantity)
                if count >= 5 { sums.append((key[0], key[1], variance, count)) }
            }
            for (name, variance) in Self.shares(of: sums) {
                deviations[name, default: []].append(variance.squareRoot())
            }
        }
        for (name, values) in deviations where values.count == 3 && pairs[name, default: 0] >= Self.enough {
            fitted[name] = Scatter(seconds: values[0], kilometres: values[1], magnitudes: values[2])
        }
    }

    private static func order(_ left: [Class], _ right: [Class]) -> Bool {
        for (a, b) in zip(left, right) where a != b {
            return a.name == b.name ? a.magnitude < b.magnitude : a.name < b.name
        }
        return false
    }

    private static func variance(of differences: Differences, _ quantity: Quantity) -> (Double, Int) {
        // The constants are the median of |x| for normally distributed x, in units of σ, and the median of the distance in the
        // plane, in units of its root mean square.
        let (values, median) =
            switch quantity {
            case .seconds: (differences.seconds, 0.674_489_75)
            case .kilometres: (differences.kilometres, 0.832_554_61)
            case .magnitudes: (differences.magnitudes, 0.674_489_75)
            }
        guard !values.isEmpty else { return (0, 0) }
        let sorted = values.sorted()
        let middle = (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        let deviation = middle / median
        return (deviation * deviation, values.count)
    }

    /// Finds non-negative variances of the classes by least squares: the sum of two classes' variances should fit the variance of
    /// their pairs. Each sum is weighted by the inverse of its squared error.
    private static func shares(
        of sums: [(a: Class, b: Class, variance: Double, count: Int)]
    ) -> [Class: Double] {
        var shares: [Class: Double] = [:]
        for sum in sums {
            shares[sum.a] = max(shares[sum.a] ?? 0, sum.variance / 2)
            shares[sum.b] = max(shares[sum.b] ?? 0, sum.variance / 2)
        }
        let names = shares.keys.sorted { order([$0], [$1]) }
        for _ in 0..<500 {
            for name in names {
                var (weights, total) = (0.0, 0.0)
                for sum in sums where sum.a == name || sum.b == name {
                    let other = shares[sum.a == name ? sum.b : sum.a] ?? 0
                    let weight = Double(sum.count) / max(sum.variance * sum.variance, 1e-12)
                    weights += weight
                    total += weight * (sum.variance - other)
                }
                if weights > 0 { shares[name] = max(0, total / weights) }
            }
        }
        return shares
    }

    // MARK: The result

    /// The fitted table with the numbers of pairs. Agencies that were not fitted keep their rows of `table`.
    public func table(replacing table: ScatterTable) -> ScatterTable {
        var result = table
        let byName = Dictionary(grouping: fitted.keys, by: \.name)
        for (name, classes) in byName {
            result.rows[name] = classes.sorted { $0.magnitude < $1.magnitude }.compactMap { found in
                fitted[found].map {
                    ScatterTable.Row(magnitude: found.magnitude, scatter: $0, pairs: pairs[found] ?? 0)
                }
            }
        }
        return result
    }
}
