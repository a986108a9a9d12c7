/// Joins the rows of a component into groups, link by link: first hard links, then pairs from the cheapest to the most expensive.
///
/// A link joins two groups unless they contain two rows that must not be together. The order of the links depends only on the
/// rows, so the groups also depend only on the rows.
struct GroupBuilder {
    typealias Outcome = Explanation.Outcome

    let rows: ComponentRows
    let hard: HardLinks
    let pairs: CandidatePairs
    private let overrides: OverrideTable
    private let comparison: Comparison
    private(set) var sets: DisjointSets
    /// For each row, the leader of its cluster. A cluster is a set of rows that hard links have joined. Two clusters are near if
    /// any two of their rows are near.
    private var clusters: [Int32] = []
    private var hasClusters = false
    /// Called for each link, in order.
    private let visit: ((_ a: Int, _ b: Int, Rule, Outcome) -> Void)?

    /// - Parameter component: all rows of one or more components, in any order, with distinct codes.
    init(
        _ component: [Solution], _ association: Association,
        visit: ((_ a: Int, _ b: Int, Rule, Outcome) -> Void)? = nil
    ) {
        let parameters = association.parameters
        (overrides, comparison, self.visit) = (association.overrides, association.comparison, visit)
        rows = ComponentRows(component, parameters)
        hard = HardLinks(rows, overrides, parameters)
        pairs = CandidatePairs(rows, comparison, parameters)
        sets = DisjointSets(count: rows.solutions.count)
        for link in hard.links { add(link.a, link.b, link.rule) }
        hasClusters = !hard.links.isEmpty
        if hasClusters { clusters = rows.solutions.indices.map { Int32(sets.leader(of: $0)) } }
        for pair in pairs.pairs { add(Int(pair.a), Int(pair.b), .pair) }
    }

    private mutating func add(_ a: Int, _ b: Int, _ rule: Rule) {
        let (left, right) = (sets.leader(of: a), sets.leader(of: b))
        let outcome = left == right ? .alreadyTogether : outcome(left, right, rule)
        if outcome == .joined { sets.join(left, right) }
        visit?(a, b, rule, outcome)
    }

    private func outcome(_ left: Int, _ right: Int, _ rule: Rule) -> Outcome {
        let (left, right) = (sets.members[left], sets.members[right])
        if !overrides.different.isEmpty, let (a, b) = different(left, right) {
            return .different(rows.codes[a], rows.codes[b])
        }
        // An override or a catalogue's ids may join two rows of the same agency.
        guard rule == .copy || rule == .pair else { return .joined }
        if let (a, b) = sameAgency(left, right) { return .sameAgency(rows.codes[a], rows.codes[b]) }
        guard rule == .pair else { return .joined }
        if let (a, b) = impossible(left, right) { return .outOfTheQuestion(rows.codes[a], rows.codes[b]) }
        return .joined
    }

    private func different(_ left: [Int32], _ right: [Int32]) -> (Int, Int)? {
        let (few, many) = left.count <= right.count ? (left, right) : (right, left)
        for a in few {
            guard let different = overrides.different[rows.codes[Int(a)]] else { continue }
            if let b = many.first(where: { different.contains(rows.codes[Int($0)]) }) {
                return (Int(a), Int(b))
            }
        }
        return nil
    }

    private func sameAgency(_ left: [Int32], _ right: [Int32]) -> (Int, Int)? {
        for a in left {
            let agency = rows.located[Int(a)].agency
            if let b = right.first(where: { rows.located[Int($0)].agency == agency }) {
                return (Int(a), Int(b))
            }
        }
        return nil
    }

    private func impossible(_ left: [Int32], _ right: [Int32]) -> (Int, Int)? {
        for a in left {
            for b in right where isImpossible(a, b) && !areClustersNear(a, b, left, right) {
                return (Int(a), Int(b))
            }
        }
        return nil
    }

    private func isImpossible(_ a: Int32, _ b: Int32) -> Bool {
        comparison.isImpossible(rows.located[Int(a)], rows.located[Int(b)])
    }

    /// Whether a row of the cluster of `a` and a row of the cluster of `b` are near enough to be in one group.
    private func areClustersNear(_ a: Int32, _ b: Int32, _ left: [Int32], _ right: [Int32]) -> Bool {
        guard hasClusters else { return false }
        let (first, second) = (clusters[Int(a)], clusters[Int(b)])
        return left.contains { a in
            clusters[Int(a)] == first
                && right.contains { clusters[Int($0)] == second && !isImpossible(a, $0) }
        }
    }
}
