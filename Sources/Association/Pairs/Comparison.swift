import Glibc

/// Compares solutions of different agencies.
///
/// The cost is Δt²/Σσt² + d²/Σσd² + Δm²/Σσm² (docs/association.md): on average 3 for two solutions of the same earthquake.
/// Vorobieva et al. (2022, doi:10.3389/feart.2022.820277) also divide the distances between catalogues by the networks' errors.
struct Comparison: Sendable {
    private let parameters: Parameters
    /// The largest allowed differences and the largest cost, each with a tolerance of 1e-9. The distance is kept as the square of
    /// a chord, which is how `cost` compares it.
    private let seconds: Double
    private let chord2: Double
    private let magnitudes: Double
    private let cost: Double

    init(_ parameters: Parameters) {
        self.parameters = parameters
        seconds = parameters.seconds + 1e-9
        let chord = 2 * sin(min(parameters.kilometres / Located.radius, .pi) / 2)
        chord2 = chord * chord * (1 + 1e-9)
        magnitudes = parameters.magnitudes + 1e-9
        cost = parameters.cost + 1e-9
    }

    /// The cost of a pair; nil if it is not a candidate pair, or costs more than `most`.
    func cost(_ a: Located, _ b: Located, atMost most: Double = .infinity) -> Double? {
        let magnitudes = abs(a.magnitude - b.magnitude)
        if magnitudes > self.magnitudes { return nil }
        let seconds = correctedSeconds(a, b)
        guard seconds <= self.seconds, seconds * seconds <= most * (a.seconds2 + b.seconds2) else {
            return nil
        }
        let chord2 = a.chord2(to: b)
        guard chord2 <= self.chord2 else { return nil }
        let cost = cost(a, b, seconds: seconds, chord2: chord2, magnitudes: magnitudes)
        return cost <= min(self.cost, most) ? cost : nil
    }

    private func cost(
        _ a: Located, _ b: Located, seconds: Double, chord2: Double, magnitudes: Double
    ) -> Double {
        let kilometres = 2 * Located.radius * asin(min(1, chord2.squareRoot() / 2))
        // If a magnitude is unknown, the term of the magnitudes is 1, which is its average.
        let size =
            magnitudes.isNaN ? 1 : magnitudes * magnitudes / (a.magnitudes2 + b.magnitudes2)
        return seconds * seconds / (a.seconds2 + b.seconds2)
            + kilometres * kilometres / (a.kilometres2 + b.kilometres2) + size
    }

    /// The part of the time between two origins that their depths do not explain. It is in seconds and never negative. A deeper
    /// solution has a later origin time, by up to a second for each 8 km.
    ///
    /// Any delay up to this maximum counts as explained, because the effect of the depth on the origin time depends on the
    /// stations.
    func correctedSeconds(_ a: Located, _ b: Located) -> Double {
        let seconds = (Double(a.time) - Double(b.time)) / 1000
        let depth = a.depth - b.depth
        guard depth == depth, !(a.isDepthFixed && b.isDepthFixed) else { return abs(seconds) }
        let most = min(abs(depth) / parameters.depthSpeed, parameters.depthSeconds)
        let later = depth < 0 ? -seconds : seconds
        return later < 0 ? -later : max(0, later - most)
    }

    /// Whether two solutions are so far apart that only hard links can bring them into one group.
    func isImpossible(_ a: Located, _ b: Located) -> Bool {
        let factor = parameters.impossible
        let chord2 = a.chord2(to: b)
        if chord2 > self.chord2 * factor * factor { return true }
        let magnitudes = abs(a.magnitude - b.magnitude)
        if magnitudes > self.magnitudes * factor { return true }
        let seconds = correctedSeconds(a, b)
        if seconds > self.seconds * factor { return true }
        return cost(a, b, seconds: seconds, chord2: chord2, magnitudes: magnitudes) > cost * factor * factor
    }

    /// How `a` differs from `b`.
    func difference(_ a: Located, _ b: Located) -> Difference {
        let magnitudes = a.magnitude - b.magnitude
        let seconds = (Double(a.time) - Double(b.time)) / 1000
        let cost = cost(
            a, b, seconds: correctedSeconds(a, b), chord2: a.chord2(to: b), magnitudes: abs(magnitudes))
        return Difference(
            seconds: seconds, kilometres: a.kilometres(to: b),
            magnitudes: magnitudes.isNaN ? nil : magnitudes,
            cost: cost)
    }
}
