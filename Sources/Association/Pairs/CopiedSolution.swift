/// Decides whether a row copies another agency's solution: the row names that agency, and all numbers of the two rows agree in
/// the digits that both publish.
///
/// EMSC publishes the solutions of other agencies, which it names in `auth`, under its own ids, with four decimals for degrees
/// and one for depths and magnitudes. For example, `ci41339671` has 33.4791666666667, 14.27 km and M 2.3, and EMSC's
/// 20260927_0000034 has 33.4792, 14.3 km and M 2.3. If an agency publishes whole seconds, such as 19:47:21, EMSC can have
/// 19:47:21.99.
struct CopiedSolution {
    /// The largest time between a solution and its copy, in milliseconds.
    static let reach: Int64 = 1000

    static func links(_ a: Solution, _ b: Solution, _ parameters: Parameters) -> Bool {
        names(a, b, parameters) && agree(a, b) || names(b, a, parameters) && agree(a, b)
    }

    private static func names(_ copy: Solution, _ original: Solution, _ parameters: Parameters) -> Bool {
        guard let author = copy.author, copy.agency != original.agency else { return false }
        let network = parameters.network(ofAuthor: author)
        return network == original.network || network == original.agency
    }

    private static func agree(_ a: Solution, _ b: Solution) -> Bool {
        let isInWholeSeconds = a.time % 1000 == 0 || b.time % 1000 == 0
        let milliseconds = (Double(a.time) - Double(b.time)).magnitude
        guard isInWholeSeconds ? milliseconds < 1000 : milliseconds <= 10 else { return false }
        return agree(a.latitude, b.latitude, decimals: 2...4)
            && agree(turned(a.longitude), turned(b.longitude), decimals: 2...4)
            && agree(a.magnitude, b.magnitude) && agree(a.depth, b.depth)
    }

    private static func agree(_ a: Double?, _ b: Double?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): agree(a, b, decimals: 0...1)
        default: false
        }
    }

    /// Whether two numbers agree in as many decimals as the shorter one has. At least `decimals.lowerBound` and at most
    /// `decimals.upperBound` decimals are compared.
    private static func agree(_ a: Double, _ b: Double, decimals: ClosedRange<Int>) -> Bool {
        var unit = 1.0
        for decimal in 0..<decimals.upperBound {
            if decimal >= decimals.lowerBound, isWhole(a * unit) || isWhole(b * unit) { break }
            unit *= 10
        }
        return (a - b).magnitude * unit <= 0.5 + 1e-6
    }

    private static func isWhole(_ number: Double) -> Bool { (number - number.rounded()).magnitude < 1e-6 }

    /// The longitude between −180 and 180 degrees.
    private static func turned(_ longitude: Double) -> Double {
        longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude
    }
}
