/// Finds the rows whose groups some changes may affect: the components of the changed rows, and those that the changed rows were in.
///
/// **Exactly these rows have to be grouped again**, and no others. A component is what links hold together, and a link depends on its
/// two rows and on nothing else. So a component without a changed row is what it was. An unchanged row that was in a component with
/// a changed row led there over unchanged rows, whose links still exist, and at last over a row that was linked to the changed one as
/// it was. It follows that the past versions of changed rows, put among the present rows, find all of them.
///
/// It asks for rows until it has them all, and never reads a database by itself:
///
///     var neighbourhood = Neighbourhood(association, changes, overrides: changedOverrides)
///     while let request = neighbourhood.request {
///         neighbourhood.add(try await store.rows(request), for: request)
///     }
///     let grouping = association.group(neighbourhood.rows)
///
/// All rows have to be read in one snapshot, the one in which `after` was read. The groups to write are those of
/// `neighbourhood.rows`; the groups to compare them with are those that have any of `neighbourhood.codes` as a member.
public struct Neighbourhood {
    /// Rows to read.
    public enum Request: Sendable, Equatable {
        /// All rows whose times are in one of these ranges, in milliseconds since 1970. Most are a few minutes long.
        case times([ClosedRange<Int64>])
        /// The rows with these codes, as far as they exist.
        case codes([String])
    }

    private let association: Association
    private let changed: Set<String>
    private let past: [Solution]
    private var known: [String: Solution] = [:]
    private var read = TimeRanges()
    /// Codes whose rows were read, or found not to exist.
    private var answered: Set<String>
    /// The next rows to read; nil once `rows` is complete.
    public private(set) var request: Request?
    /// The rows to group again, in whole components.
    public private(set) var rows: [Solution] = []

    /// - Parameters:
    ///   - association: with the overrides that hold now.
    ///   - changes: of the rows since the groups were last written, one for each code.
    ///   - overrides: those that were added or removed since then.
    public init(_ association: Association, _ changes: [SolutionChange], overrides: [Override] = []) {
        self.association = association
        past = changes.compactMap(\.before)
        let present = changes.compactMap(\.after)
        let rows = Set(past.map(\.code)).union(present.map(\.code))
        changed = rows.union(overrides.flatMap(\.codes))
        answered = rows
        for row in present { known[row.code] = row }
        advance()
    }

    /// The codes of `rows`, and those of the rows that do not exist any more: their groups are written again.
    public var codes: Set<String> { changed.union(rows.map(\.code)) }

    /// Adds what was asked for. Rows that are known already do not matter.
    public mutating func add(_ rows: [Solution], for request: Request) {
        for row in rows where !answered.contains(row.code) || known[row.code] != nil { known[row.code] = row }
        answered.formUnion(rows.map(\.code))
        switch request {
        case .times(let ranges): for range in ranges { read.insert(range) }
        case .codes(let codes): answered.formUnion(codes)
        }
        advance()
    }

    private mutating func advance() {
        let unread = changed.subtracting(answered)
        if !unread.isEmpty {
            request = .codes(unread.sorted { $0.precedes($1) })
            return
        }
        let touched = touchedComponents()
        let missing = missing(from: touched)
        request = missing
        if missing == nil { rows = touched.flatMap(\.rows) }
    }

    /// The components, as far as they are known, that changes touch.
    private func touchedComponents() -> [LinkedRows.Component] {
        var links = LinkedRows(association)
        var components: [LinkedRows.Component] = []
        let nodes = known.values.map { (row: $0, isPast: false) } + past.map { (row: $0, isPast: true) }
        for node in nodes.sorted(by: { $0.row.time < $1.row.time }) {
            components += links.closed(before: node.row.time.minus(Parameters.reach))
            links.add(node.row, isPast: node.isPast)
        }
        components += links.all()
        return components.filter { component in
            !component.past.isEmpty || component.rows.contains { changed.contains($0.code) }
        }
    }

    private func missing(from components: [LinkedRows.Component]) -> Request? {
        var codes: Set<String> = []
        var ranges = TimeRanges()
        var pastCodes: Set<String> = []
        for component in components {
            pastCodes.formUnion(component.past)
            for row in component.rows {
                codes.formUnion(association.overrides.same[row.code] ?? [])
                ranges.insert(Self.reach(of: row))
            }
        }
        for row in past where pastCodes.contains(row.code) { ranges.insert(Self.reach(of: row)) }
        for row in past { codes.formUnion(association.overrides.same[row.code] ?? []) }
        codes.subtract(answered)
        if !codes.isEmpty { return .codes(codes.sorted { $0.precedes($1) }) }
        let gaps = ranges.subtracting(read)
        if gaps.isEmpty { return nil }
        var wider = TimeRanges()
        for gap in gaps { wider.insert(gap.lowerBound.minus(Self.margin)...gap.upperBound.plus(Self.margin)) }
        return .times(wider.ranges)
    }

    /// More than what is needed now, in milliseconds: most components are shorter, so that one request finds all of them.
    private static let margin: Int64 = 60_000

    private static func reach(of row: Solution) -> ClosedRange<Int64> {
        row.time.minus(Parameters.reach)...row.time.plus(Parameters.reach)
    }
}

/// Ranges of time that do not touch each other, in order.
struct TimeRanges {
    private(set) var ranges: [ClosedRange<Int64>] = []

    mutating func insert(_ range: ClosedRange<Int64>) {
        // Ranges come in order, most of the time.
        var merged = range
        let first = ranges.partitioningIndex { $0.upperBound >= range.lowerBound.minus(1) }
        var end = first
        while end < ranges.count, ranges[end].lowerBound <= merged.upperBound.plus(1) {
            merged =
                min(
                    merged.lowerBound, ranges[end].lowerBound)...max(
                    merged.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: [merged])
    }

    /// What is in these ranges and not in others.
    func subtracting(_ others: TimeRanges) -> [ClosedRange<Int64>] {
        var rest: [ClosedRange<Int64>] = []
        for range in ranges {
            var lower = range.lowerBound
            var isDone = false
            for other in others.ranges where other.upperBound >= lower && other.lowerBound <= range.upperBound
            {
                if other.lowerBound > lower { rest.append(lower...other.lowerBound.minus(1)) }
                if other.upperBound >= range.upperBound {
                    isDone = true
                    break
                }
                lower = max(lower, other.upperBound.plus(1))
            }
            if !isDone { rest.append(lower...range.upperBound) }
        }
        return rest
    }
}

extension Array {
    /// The first index whose element fulfils a condition that holds for all after it; the count if none does.
    fileprivate func partitioningIndex(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
