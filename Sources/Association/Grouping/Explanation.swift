import Feed

/// Why a row belongs to its earthquake: the links that were considered, in order, and their outcomes.
public struct Explanation: Sendable, Equatable {
    public struct Step: Sendable, Equatable {
        public var a: ExactText
        public var b: ExactText
        public var rule: Rule
        /// How `a` differs from `b`.
        public var difference: Difference
        public var outcome: Outcome
    }

    /// The outcome of a link: whether it joined two groups, and if not, why.
    public enum Outcome: Sendable, Equatable {
        case joined
        case alreadyTogether
        /// Not joined, because these two rows of the same agency would be in one group.
        case sameAgency(ExactText, ExactText)
        /// Not joined, because an override says that these two rows are different.
        case different(ExactText, ExactText)
        /// Not joined, because these two rows are too far apart to be in one group.
        case outOfTheQuestion(ExactText, ExactText)
    }

    /// The earthquake that the row belongs to.
    public var earthquake: Earthquake
    /// The links between members of the earthquake, and from members to other rows, in the order in which they were considered.
    public var steps: [Step]
}

extension Association {
    /// - Parameters:
    ///   - code: the row to explain.
    ///   - component: all rows of its component. To find these rows, create a `Neighbourhood` with a single change whose
    ///     `before` and `after` are both this row. Its `rows` are the component.
    /// - Returns: nil if the row is not in the component.
    public func explain(_ code: ExactText, in component: [Solution]) -> Explanation? {
        var links: [(a: Int, b: Int, rule: Rule, outcome: Explanation.Outcome)] = []
        let builder = GroupBuilder(component, self) { a, b, rule, outcome in
            links.append((a, b, rule, outcome))
        }
        let rows = builder.rows
        guard let index = rows.indices[code] else { return nil }
        let earthquakes = earthquakes(builder, []).earthquakes
        guard let earthquake = earthquakes.first(where: { $0.members.contains { $0.code == code } }) else {
            return nil
        }
        var sets = builder.sets
        let leader = sets.leader(of: index)
        var explanation = Explanation(earthquake: earthquake, steps: [])
        for link in links where sets.leader(of: link.a) == leader || sets.leader(of: link.b) == leader {
            explanation.steps.append(
                Explanation.Step(
                    a: rows.codes[link.a], b: rows.codes[link.b], rule: link.rule,
                    difference: comparison.difference(rows.located[link.a], rows.located[link.b]),
                    outcome: link.outcome))
        }
        return explanation
    }
}
