import Feed

/// The pairs of rows of different agencies that may describe the same earthquake, with their costs.
///
/// **Each row has at most eight partners of each other agency**, the cheapest ones. A pair is a candidate if at least one of its
/// rows is among the partners of the other row. So the number of pairs grows only linearly with the number of rows. The limit
/// matters only if an agency has more than eight events within reach of a row: about ten a minute in one place.
struct CandidatePairs {
    struct Pair {
        /// Indices of rows; `a` is less than `b`.
        let a: Int32
        let b: Int32
        let cost: Double
    }

    static let partners = 8

    /// The cheapest first.
    private(set) var pairs: [Pair] = []

    init(_ rows: ComponentRows, _ comparison: Comparison, _ parameters: Parameters) {
        if rows.located.count <= Self.partners + 1 {
            pairs = Self.all(of: rows.located, comparison)
        } else {
            pairs = Self.cheapest(of: rows, comparison, parameters)
        }
        pairs.sort { Self.precedes($0, $1, rows.codes) }
    }

    private static func all(of rows: [Located], _ comparison: Comparison) -> [Pair] {
        var pairs: [Pair] = []
        for b in rows.indices {
            for a in 0..<b where rows[a].agency != rows[b].agency {
                guard let cost = comparison.cost(rows[a], rows[b]) else { continue }
                pairs.append(Pair(a: Int32(a), b: Int32(b), cost: cost))
            }
        }
        return pairs
    }

    private static func cheapest(
        of component: ComponentRows, _ comparison: Comparison, _ parameters: Parameters
    ) -> [Pair] {
        let rows = component.located
        var index = BeltIndex(reach: parameters.pairReach)
        var cheapest = CheapestPartners(
            rows: rows.count, agencies: component.agencies, codes: component.codes)
        for b in rows.indices {
            let second = rows[b]
            index.add(b, time: second.time, belt: second.belt) { a in
                let agency = rows[a].agency
                guard agency != second.agency else { return }
                let (left, right) = (cheapest.slot(a, second.agency), cheapest.slot(b, agency))
                let most = max(cheapest.bounds[left], cheapest.bounds[right])
                guard let cost = comparison.cost(rows[a], second, atMost: most) else { return }
                cheapest.add(b, cost, to: left)
                cheapest.add(a, cost, to: right)
            }
        }
        return cheapest.pairs
    }

    /// Orders pairs by cost, then by their lesser code, then by their greater code.
    private static func precedes(_ left: Pair, _ right: Pair, _ codes: [ExactText]) -> Bool {
        guard left.cost == right.cost else { return left.cost < right.cost }
        return CodePair(codes[Int(left.a)], codes[Int(left.b)])
            < CodePair(codes[Int(right.a)], codes[Int(right.b)])
    }
}

/// For each row and agency, the cheapest partners found so far. A slot is one combination of a row and an agency.
private struct CheapestPartners {
    private struct Partner {
        var row: Int32
        var cost: Double
    }

    private let agencies: Int
    private let codes: [ExactText]
    /// `CandidatePairs.partners` elements for each slot, the cheapest first.
    private var partners: [Partner]
    private var counts: [UInt8]
    /// For each slot, the highest cost with which a new partner would still be among the cheapest.
    private(set) var bounds: [Double]

    init(rows: Int, agencies: Int, codes: [ExactText]) {
        (self.agencies, self.codes) = (agencies, codes)
        let slots = rows * agencies
        partners = Array(repeating: Partner(row: 0, cost: 0), count: slots * CandidatePairs.partners)
        counts = Array(repeating: 0, count: slots)
        bounds = Array(repeating: .infinity, count: slots)
    }

    func slot(_ row: Int, _ agency: Int) -> Int { row * agencies + agency }

    mutating func add(_ row: Int, _ cost: Double, to slot: Int) {
        guard cost <= bounds[slot] else { return }
        let first = slot * CandidatePairs.partners
        let partner = Partner(row: Int32(row), cost: cost)
        var place = first + Int(counts[slot])
        if counts[slot] == CandidatePairs.partners {
            place -= 1
            guard precedes(partner, partners[place]) else { return }
        } else {
            counts[slot] += 1
        }
        while place > first, precedes(partner, partners[place - 1]) {
            partners[place] = partners[place - 1]
            place -= 1
        }
        partners[place] = partner
        if counts[slot] == CandidatePairs.partners {
            bounds[slot] = partners[first + CandidatePairs.partners - 1].cost
        }
    }

    private func precedes(_ left: Partner, _ right: Partner) -> Bool {
        left.cost == right.cost
            ? codes[Int(left.row)] < codes[Int(right.row)] : left.cost < right.cost
    }

    /// All pairs, each once.
    var pairs: [CandidatePairs.Pair] {
        var pairs: [CandidatePairs.Pair] = []
        for slot in counts.indices {
            let (row, first) = (Int32(slot / agencies), slot * CandidatePairs.partners)
            for partner in partners[first..<first + Int(counts[slot])] {
                let pair = CandidatePairs.Pair(
                    a: min(row, partner.row), b: max(row, partner.row), cost: partner.cost)
                // The row with the lower index adds the pair if it has the other row as a partner. Otherwise the other row adds
                // it.
                if row < partner.row || !isPartner(row, of: partner.row) { pairs.append(pair) }
            }
        }
        return pairs
    }

    /// Whether `row` is among the cheapest partners of `partner`.
    private func isPartner(_ row: Int32, of partner: Int32) -> Bool {
        (0..<agencies).contains { agency in
            let other = slot(Int(partner), agency)
            let first = other * CandidatePairs.partners
            return partners[first..<first + Int(counts[other])].contains { $0.row == row }
        }
    }
}

/// Two codes, the lesser one first.
struct CodePair: Comparable, Hashable {
    let lesser: ExactText
    let greater: ExactText

    init(_ a: ExactText, _ b: ExactText) {
        (lesser, greater) = b < a ? (b, a) : (a, b)
    }

    static func < (left: Self, right: Self) -> Bool {
        left.lesser == right.lesser
            ? left.greater < right.greater : left.lesser < right.lesser
    }
}
