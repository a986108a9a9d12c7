/// The pairs of rows of different agencies that may be one earthquake, with their costs.
///
/// **In a crowd, only the cheapest count**: of each other agency, a row's eight cheapest partners. A pair that is among them for either
/// row is a candidate. This bounds the pairs by the rows, and matters only where an agency has more than eight events within
/// reach of one: ten a minute in one place.
struct CandidatePairs {
    struct Pair {
        /// Indices of rows, the first one less than the second.
        let a: Int32
        let b: Int32
        let cost: Double
    }

    static let partners = 8

    /// The cheapest first.
    private(set) var pairs: [Pair] = []

    /// - Parameters:
    ///   - rows: in time order; agencies are numbered from 0.
    ///   - codes: theirs, by which equal costs are ordered.
    init(
        of rows: [Located], codes: [String], agencies: Int, _ comparison: Comparison, _ parameters: Parameters
    ) {
        if rows.count <= Self.partners + 1 {
            pairs = Self.all(of: rows, comparison)
        } else {
            pairs = Self.cheapest(of: rows, codes, agencies, comparison, parameters)
        }
        pairs.sort { Self.precedes($0, $1, codes) }
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
        of rows: [Located], _ codes: [String], _ agencies: Int, _ comparison: Comparison,
        _ parameters: Parameters
    ) -> [Pair] {
        var index = BeltIndex(reach: parameters.pairReach)
        var cheapest = CheapestPartners(rows: rows.count, agencies: agencies, codes: codes)
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

    /// By cost; equal ones by the lesser code, then by the greater one.
    private static func precedes(_ left: Pair, _ right: Pair, _ codes: [String]) -> Bool {
        guard left.cost == right.cost else { return left.cost < right.cost }
        return CodePair(codes[Int(left.a)], codes[Int(left.b)])
            < CodePair(codes[Int(right.a)], codes[Int(right.b)])
    }
}

/// For each row and each agency, the cheapest partners so far.
private struct CheapestPartners {
    private struct Partner {
        var row: Int32
        var cost: Double
    }

    private let agencies: Int
    private let codes: [String]
    /// `CandidatePairs.partners` places for each slot, the cheapest first.
    private var partners: [Partner]
    private var counts: [UInt8]
    /// What a partner may cost at most to be among the cheapest.
    private(set) var bounds: [Double]

    init(rows: Int, agencies: Int, codes: [String]) {
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
            ? codes[Int(left.row)].precedes(codes[Int(right.row)]) : left.cost < right.cost
    }

    /// All of them, each pair once.
    var pairs: [CandidatePairs.Pair] {
        var pairs: [CandidatePairs.Pair] = []
        for slot in counts.indices {
            let (row, first) = (Int32(slot / agencies), slot * CandidatePairs.partners)
            for partner in partners[first..<first + Int(counts[slot])] {
                let pair = CandidatePairs.Pair(
                    a: min(row, partner.row), b: max(row, partner.row), cost: partner.cost)
                // The lesser row brings it, unless it does not have it.
                if row < partner.row || !isPartner(row, of: partner.row) { pairs.append(pair) }
            }
        }
        return pairs
    }

    /// Whether a row is among the cheapest partners of another one.
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
    let lesser: String
    let greater: String

    init(_ a: String, _ b: String) {
        (lesser, greater) = b.precedes(a) ? (b, a) : (a, b)
    }

    static func < (left: Self, right: Self) -> Bool {
        left.lesser == right.lesser
            ? left.greater.precedes(right.greater) : left.lesser.precedes(right.lesser)
    }
}
