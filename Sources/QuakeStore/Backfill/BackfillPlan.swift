import Feed

/// Cuts a stretch of the past into windows that each hold fewer events than the service gives at once, with few
/// requests.
///
/// It knows no service: it says which window to ask for next, and is told what came of it.
struct BackfillPlan {
    /// From the first instant on, up to the second, exclusive.
    let range: Range<Instant>
    let isNewestFirst: Bool
    /// How many events the service gives at once.
    let limit: Int

    /// Everything between the beginning and this instant is done.
    private(set) var reached: Instant
    /// Events in a millisecond, where it was last seen.
    private var density: Double
    /// A window that held too many: the next one is smaller.
    private var longest: Int64?

    /// So much of the limit a window is meant to hold: a little more than expected still fits.
    private static let fill = 0.9

    /// - Parameters:
    ///   - expected: how many events the service counts in what is left.
    init(range: Range<Instant>, isNewestFirst: Bool, limit: Int, reached: Instant, expected: Int) {
        self.range = range
        self.isNewestFirst = isNewestFirst
        self.limit = limit
        self.reached = reached
        density = 0
        density = Double(expected) / Double(max(1, left))
    }

    /// Milliseconds that are left.
    var left: Int64 {
        isNewestFirst
            ? reached.milliseconds - range.lowerBound.milliseconds
            : range.upperBound.milliseconds - reached.milliseconds
    }

    /// The next window; nil when all is done.
    var next: Range<Instant>? {
        guard left > 0 else { return nil }
        var length = left
        let wanted = Double(limit) * Self.fill / max(density, .leastNonzeroMagnitude)
        if wanted < Double(length) { length = max(1, Int64(wanted)) }
        if let longest { length = min(length, longest) }
        // What would be left for a tiny last window is divided evenly.
        if length < left, left < length * 2 { length = left / 2 + left % 2 }
        return isNewestFirst
            ? Instant(milliseconds: reached.milliseconds - length)..<reached
            : reached..<Instant(milliseconds: reached.milliseconds + length)
    }

    /// The window was imported, with so many events.
    mutating func took(_ window: Range<Instant>, events: Int) {
        reached = isNewestFirst ? window.lowerBound : window.upperBound
        longest = nil
        // Half of what was seen here, half of what was expected: a quiet month does not make the next window a decade.
        density = (density + Double(events) / Double(window.length)) / 2
    }

    /// The window holds more events than the service gives at once.
    ///
    /// - Parameter count: how many, when that is known.
    /// - Returns: false when it can't be cut any more.
    mutating func hadTooMany(_ window: Range<Instant>, count: Int?) -> Bool {
        guard window.length > 1 else { return false }
        let counted = Double(max(count ?? 0, limit + 1))
        density = max(density, counted / Double(window.length))
        longest =
            count == nil
            ? window.length / 2
            : max(
                1, min(window.length - 1, Int64(Double(window.length) * Double(limit) * Self.fill / counted)))
        return true
    }
}

extension Range<Instant> {
    /// Milliseconds.
    fileprivate var length: Int64 { upperBound.milliseconds - lowerBound.milliseconds }
}
