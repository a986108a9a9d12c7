import Feed

/// Finds all rows whose groups may change after some rows have changed. They are the rows of all components that contain a
/// changed row now, or contained a changed row before its change.
///
/// **Only these rows must be grouped again.** A component is a set of linked rows, and a link depends only on its two rows. So a
/// component without a changed row stays the same. If an unchanged row was in a component with a changed row, a chain of links
/// led from the unchanged row to the changed row. The links between unchanged rows still exist, and the last link led to the
/// changed row's past version. So all these rows are found if the past versions of the changed rows are added to the present
/// rows.
///
/// A neighbourhood never reads the database. The caller reads the requested rows until the neighbourhood has all of its rows:
///
///     var neighbourhood = Neighbourhood(association, changes, overrides: changedOverrides)
///     while let request = neighbourhood.request {
///         neighbourhood.add(try await store.rows(request), for: request)
///     }
///     let grouping = association.group(neighbourhood.rows)
///
/// Read all rows in the snapshot in which the `after` of each change was read. The new groups are those of `neighbourhood.rows`.
/// Compare them with the old groups that have one of `neighbourhood.codes` as a member.
public struct Neighbourhood {
    /// A request for rows.
    public enum Request: Sendable, Equatable {
        /// All rows whose times are in one of these ranges, in milliseconds since 1970. Most are a few minutes long.
        case times([ClosedRange<Int64>])
        /// The existing rows with these codes.
        case codes([ExactText])
    }

    private let association: Association
    private let changed: Set<ExactText>
    private let past: [Solution]
    private var known: [ExactText: Solution] = [:]
    private var read = TimeRanges()
    /// Codes whose rows were read, or found not to exist.
    private var answered: Set<ExactText>
    /// The next rows to read; nil once `rows` is complete.
    public private(set) var request: Request?
    /// The rows to group again, in whole components.
    public private(set) var rows: [Solution] = []

    /// - Parameters:
    ///   - association: the association with the current overrides.
    ///   - changes: the changes of rows since the groups were last written, one for each code.
    ///   - overrides: the overrides that were added or removed since the groups were last written.
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

    /// The codes of `rows`, of deleted rows and of changed overrides. Groups with any of these members are written again.
    public var codes: Set<ExactText> { changed.union(rows.map(\.code)) }

    /// Adds the requested rows. Some of these rows may be known already.
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
            request = .codes(unread.sorted())
            return
        }
        let touched = touchedComponents()
        let missing = missing(from: touched)
        request = missing
        if missing == nil { rows = touched.flatMap(\.rows) }
    }

    /// The components with a changed row, as far as their rows are known.
    private func touchedComponents() -> [ComponentStream.Component] {
        var stream = ComponentStream(association)
        var components: [ComponentStream.Component] = []
        let nodes = known.values.map { (row: $0, isPast: false) } + past.map { (row: $0, isPast: true) }
        for node in nodes.sorted(by: { $0.row.time < $1.row.time }) {
            components += stream.add(node.row, isPast: node.isPast)
        }
        components += stream.finish()
        return components.filter { component in
            !component.past.isEmpty || component.rows.contains { changed.contains($0.code) }
        }
    }

    private func missing(from components: [ComponentStream.Component]) -> Request? {
        var codes: Set<ExactText> = []
        var ranges = TimeRanges()
        var pastCodes: Set<ExactText> = []
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
        if !codes.isEmpty { return .codes(codes.sorted()) }
        let gaps = ranges.subtracting(read)
        if gaps.isEmpty { return nil }
        var wider = TimeRanges()
        for gap in gaps { wider.insert(gap.lowerBound.minus(Self.margin)...gap.upperBound.plus(Self.margin)) }
        return .times(wider.ranges)
    }

    /// The additional time that is read before and after each gap, in milliseconds. Most components are shorter than this, so one
    /// request finds all of their rows.
    private static let margin: Int64 = 60_000

    private static func reach(of row: Solution) -> ClosedRange<Int64> {
        row.time.minus(Parameters.reach)...row.time.plus(Parameters.reach)
    }
}

/// Ranges of time in ascending order that neither overlap nor touch.
struct TimeRanges {
    private(set) var ranges: [ClosedRange<Int64>] = []

    mutating func insert(_ range: ClosedRange<Int64>) {
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

    /// The parts of these ranges that are in none of the others.
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
    /// The first index whose element fulfils the condition; the count if there is none. All elements after that index must fulfil
    /// it, too.
    fileprivate func partitioningIndex(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
