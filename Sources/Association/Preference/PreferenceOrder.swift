import Feed

/// The order in which the solutions of an earthquake are preferred.
///
/// The criteria in descending order: a person's override; an agency that is authoritative at the epicentre (ComCat gives such a
/// product 50 to 100 times the weight; Product Distribution Layer, DefaultIndexerModule); reviewed before automatic (SeisComP's
/// scevent, STATUS); the agency's rank; more stations; a smaller gap; the later revision; the code.
struct PreferenceOrder {
    private let parameters: Parameters
    private let named: Set<ExactText>

    init(_ parameters: Parameters, _ named: Set<ExactText>) {
        (self.parameters, self.named) = (parameters, named)
    }

    func precedes(_ a: Solution, _ b: Solution) -> Bool {
        let (first, second) = (Self.key(a, named), Self.key(b, named))
        if first != second { return first < second }
        if a.review != b.review { return a.review < b.review }
        let (rankA, rankB) = (rank(a), rank(b))
        if rankA != rankB { return rankA < rankB }
        if a.stations != b.stations { return (a.stations ?? -1) > (b.stations ?? -1) }
        let (gapA, gapB) = (a.gap?.known ?? 361, b.gap?.known ?? 361)
        if gapA != gapB { return gapA < gapB }
        if a.updated != b.updated { return a.updated > b.updated }
        return a.code < b.code
    }

    /// 0 if an override names the solution, 1 if its agency is authoritative, else 2.
    private static func key(_ solution: Solution, _ named: Set<ExactText>) -> Int {
        if named.contains(solution.code) { return 0 }
        return Region.isAuthoritative(solution.network, agency: solution.agency, at: solution) ? 1 : 2
    }

    private func rank(_ solution: Solution) -> Int {
        parameters.ranks[solution.network] ?? parameters.ranks[solution.agency] ?? .max
    }

    /// The solution whose magnitude to show. A moment magnitude (Mw) comes first, because it does not saturate for large
    /// earthquakes. Among magnitudes of the same type, and among all magnitudes that are not an Mw, the most preferred solution
    /// decides.
    ///
    /// The types of Mw from moment tensors come before other Mw, in the USGS's order: Mww, Mwc, Mwb, Mwr. The estimates Mw(mB)
    /// and Mwp do not count as Mw, because no moment was measured. SeisComP's scevent, too, chooses the magnitude independently
    /// of the origin and prefers Mw.
    func magnitude(of solutions: [Solution]) -> Solution? {
        solutions.filter { $0.magnitude != nil }.min { a, b in
            let (first, second) = (Self.rank(ofType: a.magnitudeType), Self.rank(ofType: b.magnitudeType))
            return first == second ? precedes(a, b) : first < second
        }
    }

    private static func rank(ofType type: String?) -> Int {
        switch type?.lowercased() {
        case "mww": 0
        case "mwc": 1
        case "mwb": 2
        case "mwr": 3
        case "mw": 4
        default: 5
        }
    }
}

extension Double {
    /// nil if the number is infinite or NaN.
    fileprivate var known: Double? { isFinite ? self : nil }
}
