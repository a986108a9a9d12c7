import Feed

/// Which origin times a catalogue holds, and from which magnitude on. Where it holds nothing, that a picture shows nothing
/// means nothing.
public struct Coverage: Sendable {
    public struct Period: Sendable, Equatable {
        public let from: Instant
        public let until: Instant
        /// nil for all magnitudes.
        public let minimumMagnitude: Double?

        public init(from: Instant, until: Instant, minimumMagnitude: Double?) {
            (self.from, self.until, self.minimumMagnitude) = (from, until, minimumMagnitude)
        }
    }

    struct Stretch: Equatable {
        /// Milliseconds since 1970.
        var from: Double
        var until: Double
        /// Held from this magnitude on: infinity if nothing is, minus infinity if everything is.
        let magnitude: Double
    }

    private let periods: [Period]

    /// - Parameter periods: in any order; they may overlap. Without any, it is not known what is held.
    public init(_ periods: [Period] = []) {
        self.periods = periods.filter { $0.from < $0.until }
    }

    /// The stretches of a time, the earliest first.
    ///
    /// - Parameter magnitude: only what is larger matters.
    func stretches(_ times: ClosedRange<Double>, from magnitude: Double? = nil) -> [Stretch] {
        guard !periods.isEmpty else { return [] }
        let ends = periods.flatMap { [Double($0.from.milliseconds), Double($0.until.milliseconds)] }
        let cuts = Set(ends.filter { $0 > times.lowerBound && $0 < times.upperBound })
            .union([times.lowerBound, times.upperBound]).sorted()
        var stretches: [Stretch] = []
        for (from, until) in zip(cuts, cuts.dropFirst()) {
            let middle = (from + until) / 2
            let held = periods.filter {
                Double($0.from.milliseconds) <= middle && middle < Double($0.until.milliseconds)
            }.map { $0.minimumMagnitude ?? -.infinity }.min()
            let threshold = held.map { $0 <= magnitude ?? -.infinity ? -.infinity : $0 } ?? .infinity
            if stretches.last?.magnitude == threshold {
                stretches[stretches.count - 1].until = until
            } else {
                stretches.append(Stretch(from: from, until: until, magnitude: threshold))
            }
        }
        return stretches
    }

    public var isEmpty: Bool { periods.isEmpty }

    /// What is not held of a time, in words; nil if all is, or if it is not known.
    ///
    /// - Parameter agency: whose earthquakes these are, if that has to be said.
    public func gaps(
        _ times: ClosedRange<Instant>, from magnitude: Double? = nil, of agency: String? = nil
    ) -> String? {
        let range = Double(times.lowerBound.milliseconds)...Double(times.upperBound.milliseconds)
        let gaps = stretches(range, from: magnitude).filter { $0.magnitude > -.infinity }
        guard !gaps.isEmpty else { return nil }
        let words = gaps.prefix(3).map { gap in
            let below = gap.magnitude < .infinity ? ", below magnitude \(gap.magnitude)" : ""
            return "\(Self.day(gap.from)) – \(Self.day(gap.until))\(below)"
        }
        let rest = gaps.count > 3 ? "; and \(gaps.count - 3) more (quakes report coverage)" : ""
        return "Not held\(agency.map { " of \($0)" } ?? ""): " + words.joined(separator: "; ") + rest + "."
    }

    /// Where the stretch without a gap ends that has this moment in it; nil if nothing is held then. The rule of
    /// `report.held_until`: what is held from a greater magnitude on than that given, or than at that moment, is a gap.
    public func heldUntil(_ moment: Instant, from magnitude: Double? = nil) -> Instant? {
        let level = periods.filter { $0.from <= moment && moment < $0.until }
            .map { $0.minimumMagnitude ?? -.infinity }.min()
        guard let level, let end = periods.map(\.until).max() else { return nil }
        let range = Double(moment.milliseconds)...Double(end.milliseconds)
        return stretches(range, from: max(level, magnitude ?? -.infinity)).first.map {
            Instant(milliseconds: Int64($0.until))
        }
    }

    private static func day(_ milliseconds: Double) -> String {
        CivilDate(Instant(milliseconds: Int64(milliseconds))).words
    }
}

extension CivilDate {
    public var words: String { "\(day) \(TimeStep.months[month - 1]) \(year)" }
}
