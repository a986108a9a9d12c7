extension Association {
    /// Turns the groups of `builder` into earthquakes with their members.
    func earthquakes(_ builder: GroupBuilder, _ findings: Set<Finding>) -> Grouping {
        var grouping = Grouping()
        grouping.findings = findings
        let rows = builder.rows
        let ties = Ties(builder)
        for group in builder.sets.members where !group.isEmpty {
            let members = group.map(Int.init)
            let solutions = members.map { rows.solutions[$0] }
            let order = PreferenceOrder(parameters, overrides.preferred)
            let preferred = solutions.min { order.precedes($0, $1) }!
            let first = solutions.min(by: Self.wasHereBefore)!
            let earthquake = Earthquake(
                code: first.code, preferred: preferred.code,
                magnitudeFrom: order.magnitude(of: solutions)?.code,
                agencies: Set(solutions.map(\.agency)).count,
                members: members.map { member($0, rows, ties) }.sorted { $0.code < $1.code })
            grouping.earthquakes.append(earthquake)
            let named = solutions.map(\.code).filter(overrides.preferred.contains)
            if named.count > 1 {
                grouping.findings.insert(
                    .severalPreferred(earthquake: first.code, codes: named.sorted()))
            }
        }
        grouping.earthquakes.sort { $0.code < $1.code }
        return grouping
    }

    private func member(_ index: Int, _ rows: ComponentRows, _ ties: Ties) -> Member {
        var member = Member(code: rows.codes[index])
        guard let tie = ties.inside[index] else { return member }
        let difference = comparison.difference(rows.located[index], rows.located[tie.partner])
        member.partner = rows.codes[tie.partner]
        member.difference = difference
        member.rule = tie.rule
        // Overrides, ids and copies are never doubtful, so a row is doubtful only if its strongest tie is a pair.
        if tie.rule == .pair, let outside = ties.outside[index] {
            member.isDoubtful = outside < parameters.doubtful * difference.cost
        }
        return member
    }

    private static func wasHereBefore(_ a: Solution, _ b: Solution) -> Bool {
        a.firstSeen == b.firstSeen ? a.code < b.code : a.firstSeen < b.firstSeen
    }
}

/// For each row, the strongest tie to another row of its group, and the cost of the cheapest pair with a row outside the group.
private struct Ties {
    struct Tie {
        let partner: Int
        let rule: Rule
    }

    private(set) var inside: [Tie?]
    private(set) var outside: [Double?]

    init(_ builder: GroupBuilder) {
        var sets = builder.sets
        let count = builder.rows.solutions.count
        inside = Array(repeating: nil, count: count)
        outside = Array(repeating: nil, count: count)
        // Hard links and pairs are both sorted by strength, so the first tie of a row is its strongest tie.
        for link in builder.hard.links where sets.leader(of: link.a) == sets.leader(of: link.b) {
            tie(link.a, link.b, link.rule)
        }
        for pair in builder.pairs.pairs {
            let (a, b) = (Int(pair.a), Int(pair.b))
            if sets.leader(of: a) == sets.leader(of: b) {
                tie(a, b, .pair)
            } else {
                outside[a] = outside[a] ?? pair.cost
                outside[b] = outside[b] ?? pair.cost
            }
        }
    }

    private mutating func tie(_ a: Int, _ b: Int, _ rule: Rule) {
        inside[a] = inside[a] ?? Tie(partner: b, rule: rule)
        inside[b] = inside[b] ?? Tie(partner: a, rule: rule)
    }
}
