import Feed

/// The periods of origin times that a catalogue holds, each with the smallest magnitude that is held. If the catalogue does not
/// hold a period, an empty picture of it does not mean that there were no earthquakes.
public struct Coverage: Sendable {
    public struct Period: Sendable, Equatable {
        public let from: Instant
        public let until: Instant
        /// The smallest magnitude that is held; nil if all are held.
        public let minimumMagnitude: Double?

        public init(from: Instant, until: Instant, minimumMagnitude: Double?) {
            (self.from, self.until, self.minimumMagnitude) = (from, until, minimumMagnitude)
        }
    }

    struct Stretch: Equatable {
        /// Milliseconds since 1970.
        var from: Double
        var until: Double
        /// The smallest magnitude that is held; infinity if nothing is held, minus infinity if all magnitudes that matter
        /// are held.
        let magnitude: Double
    }

    private let periods: [Period]

    /// - Parameter periods: the held periods, in any order. They may overlap. If there are none, the coverage is unknown.
    public init(_ periods: [Period] = []) {
        self.periods = periods.filter { $0.from < $0.until }
    }

    /// Divides a range of time at the moments where the coverage changes, the earliest stretch first. Empty if the coverage is
    /// unknown.
    ///
    /// - Parameter magnitude: the smallest magnitude that matters. A stretch counts as complete if the catalogue holds all of its
    ///   events of at least this magnitude.
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

    /// The gaps in a range of time, in words; nil if there are none, or if the coverage is unknown.
    ///
    /// - Parameter agency: the agency to name in the text, if any.
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
        let rest =
            gaps.count > 3 ? "; and \(gaps.count - 3) more (see the command: quakes report coverage)" : ""
        return "Not held by the catalogue\(agency.map { " for \($0)" } ?? ""): "
            + words.joined(separator: "; ") + rest + "."
    }

    /// The moment at which the first gap of the catalogue after `moment` begins, or else the end of the last held period; nil if
    /// the catalogue holds nothing at `moment`. As in `report.held_until`, a stretch is a gap if its smallest held magnitude is
    /// larger than both `magnitude` and the smallest one held at `moment`, or if nothing is held in it.
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
