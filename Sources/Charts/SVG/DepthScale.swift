/// Six classes of depth: one set for all depths of the earth, and a finer set if all events are within the crust.
struct DepthScale {
    /// The depths, in km, at which the classes after the first begin.
    private let bounds: [Double]
    private let hasUnknown: Bool

    init(_ events: [ChartEvent]) {
        let deepest = events.lazy.compactMap(\.depth).max() ?? 700
        bounds = deepest < 45 ? [5, 10, 15, 20, 30] : [35, 70, 150, 300, 500]
        hasUnknown = events.contains { $0.depth == nil }
    }

    /// The class of a depth, from 0 for the shallowest; 6 for an unknown depth.
    func index(_ depth: Double?) -> Int {
        guard let depth else { return bounds.count + 1 }
        return bounds.count { $0 <= depth }
    }

    var labels: [String] {
        let whole = bounds.map { "\(Int($0))" }
        let middle = zip(whole, whole.dropFirst()).map { "\($0)–\($1)" }
        return ["< \(whole[0])"] + middle + ["≥ \(whole[whole.count - 1])"] + (hasUnknown ? ["unknown"] : [])
    }
}
