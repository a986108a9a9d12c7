/// The links between rows of a component that do not depend on a cost: overrides, ids and copies.
struct HardLinks {
    struct Link {
        let a: Int
        let b: Int
        let rule: Rule
    }

    /// The strongest rule first. Links by the same rule are ordered by their codes.
    private(set) var links: [Link] = []

    init(_ rows: ComponentRows, _ overrides: OverrideTable, _ parameters: Parameters) {
        var found: [Link] = []
        for (index, row) in rows.solutions.enumerated() {
            for other in overrides.same[row.code] ?? [] {
                guard let partner = rows.indices[other], index < partner else { continue }
                found.append(Link(a: index, b: partner, rule: .same))
            }
            guard row.ids.count > 1 else { continue }
            for id in Set(row.ids) where id != row.code {
                guard let partner = rows.indices[id], Self.lists(row, rows.solutions[partner]) else {
                    continue
                }
                found.append(Link(a: min(index, partner), b: max(index, partner), rule: .ids))
            }
        }
        found += Self.copies(rows, parameters)
        let codes = rows.codes
        links = found.sorted { left, right in
            guard left.rule == right.rule else { return left.rule < right.rule }
            return CodePair(codes[left.a], codes[left.b]) < CodePair(codes[right.a], codes[right.b])
        }
    }

    /// Whether `row` is linked to `other`, whose code is among the ids of `row`. Both rows must be of the same catalogue, and at
    /// most five minutes apart. import.is_same_time() uses the same limit.
    static func lists(_ row: Solution, _ other: Solution) -> Bool {
        row.agency == other.agency
            && (Double(row.time) - Double(other.time)).magnitude <= Double(Parameters.reach)
    }

    private static func copies(_ rows: ComponentRows, _ parameters: Parameters) -> [Link] {
        guard rows.solutions.contains(where: { $0.author != nil }) else { return [] }
        var links: [Link] = []
        var index = BeltIndex(reach: CopiedSolution.reach)
        for (row, located) in rows.located.enumerated() {
            index.add(row, time: located.time, belt: located.belt) { earlier in
                if CopiedSolution.links(rows.solutions[earlier], rows.solutions[row], parameters) {
                    links.append(Link(a: earlier, b: row, rule: .copy))
                }
            }
        }
        return links
    }
}
