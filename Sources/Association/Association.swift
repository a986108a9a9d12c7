/// Decides which rows of different agencies describe the same earthquake, and which of these rows to show.
///
/// **A pure function** of the rows, the overrides that people set, and the parameters. The order of the rows does not matter, and
/// codes only break ties. docs/association.md lists the rules; each is explained where it is implemented.
///
/// A component is a set of linked rows. Two rows are linked if they are a candidate pair or have a hard link, whether or not they
/// end up in one group. Rows of different components never affect each other, so the groups of a component depend only on its
/// rows. `ComponentStream` finds the components of a whole table, and `Neighbourhood` finds the components that a few changes
/// affect.
///
/// **The time grows with the square of the number of rows that are close together**: each row is compared with the rows of other
/// agencies that are within 40 s and in the same belt of latitude or a neighbouring one. A comparison takes about 20 ns. So
/// 10,000 rows at one place within one minute take about a second, and 40,000 rows about 20 s. These times are for a full run,
/// and also for each pass that touches these rows. Memory is bounded by `CandidatePairs.partners` pairs for each row and agency.
public struct Association: Sendable {
    /// The version of the rules and of the shipped parameters. Increase it when either changes: all groups must then be rebuilt,
    /// and older versions must not rebuild them.
    public static let rules = 2

    public let parameters: Parameters
    let overrides: OverrideTable
    let comparison: Comparison

    public init(_ parameters: Parameters = .shipped, overrides: [Override] = []) {
        self.parameters = parameters
        self.overrides = OverrideTable(overrides)
        comparison = Comparison(parameters)
    }

    /// The earthquakes of all rows, which may be in any order. Keeps all rows in memory.
    public func earthquakes(of rows: [Solution]) -> Grouping {
        var stream = ComponentStream(self)
        var grouping = Grouping()
        func add(_ components: [ComponentStream.Component]) {
            for component in components { grouping.append(group(component.rows)) }
        }
        for row in rows.sorted(by: { $0.time < $1.time }) { add(stream.add(row)) }
        add(stream.finish())
        grouping.findings.formUnion(stream.missing.map(Finding.missing))
        grouping.earthquakes.sort { $0.code < $1.code }
        return grouping
    }

    /// The earthquakes of one or more components.
    ///
    /// - Parameter component: all rows of the components, in any order, with distinct codes.
    public func group(_ component: [Solution]) -> Grouping {
        if component.count == 1 { return Grouping(alone: component[0]) }
        var overridden: [(a: Int, b: Int, outcome: GroupBuilder.Outcome)] = []
        let builder = GroupBuilder(component, self) { a, b, rule, outcome in
            if rule == .same { overridden.append((a, b, outcome)) }
        }
        let findings = overridden.compactMap { finding(builder.rows, $0.a, $0.b, $0.outcome) }
        return earthquakes(builder, Set(findings))
    }

    private func finding(_ rows: ComponentRows, _ a: Int, _ b: Int, _ outcome: GroupBuilder.Outcome)
        -> Finding?
    {
        let codes = CodePair(rows.codes[a], rows.codes[b])
        let same = [codes.lesser, codes.greater]
        switch outcome {
        case .different(let a, let b):
            let different = CodePair(a, b)
            return .contradiction(same: same, different: [different.lesser, different.greater])
        case .joined, .alreadyTogether:
            guard comparison.isImpossible(rows.located[a], rows.located[b]) else { return nil }
            let difference = comparison.difference(rows.located[a], rows.located[b])
            return .farApart(
                same, kilometres: difference.kilometres, seconds: abs(difference.seconds))
        case .sameAgency, .outOfTheQuestion: return nil
        }
    }
}

extension Grouping {
    fileprivate init(alone row: Solution) {
        earthquakes = [
            Earthquake(
                code: row.code, preferred: row.code, magnitudeFrom: row.magnitude == nil ? nil : row.code,
                agencies: 1, members: [Member(code: row.code)])
        ]
    }

    mutating func append(_ other: Grouping) {
        earthquakes += other.earthquakes
        findings.formUnion(other.findings)
    }
}
