import Feed

/// Cuts a stretch of the past into windows. Each window holds fewer events than the service returns at once, but as many as are
/// likely to fit, so that few requests are needed.
///
/// The plan makes no requests: `next` is the next window to request, and the other methods take the results.
struct BackfillPlan {
    let range: Range<Instant>
    let isNewestFirst: Bool
    /// How many events the service returns at once. It is lowered when the service gives fewer events than it counts, or refuses
    /// fewer events.
    private(set) var limit: Int

    /// Everything between the beginning of the backfill and this instant is done.
    private(set) var reached: Instant
    /// Events per millisecond, as last observed.
    private var density = 0.0
    /// The greatest length of the next window, in milliseconds; set after a window held too many events.
    private var longest: Int64?
    /// A window with too many events is cut into at least this many parts.
    private let leastCut: Int
    /// How many times in a row the service has given fewer events than it counts.
    private var shortAnswers = 0

    /// The share of the limit that a window should hold, so that a few more events than expected still fit.
    private static let fill = 0.9
    /// The length of the first window of a service that does not count: 30 days, in milliseconds.
    private static let firstLook = 30.0 * 86_400_000

    /// - Parameters:
    ///   - expected: how many events the service counts in the rest of the stretch; nil if it does not count.
    init(
        range: Range<Instant>, isNewestFirst: Bool, limit: Int, reached: Instant, expected: Int?,
        leastCut: Int = 1
    ) {
        self.range = range
        self.leastCut = leastCut
        self.isNewestFirst = isNewestFirst
        self.limit = limit
        self.reached = reached
        density =
            expected.map { Double($0) / Double(max(1, left)) } ?? Double(limit) * Self.fill / Self.firstLook
    }

    /// The length of the rest of the stretch, in milliseconds.
    var left: Int64 {
        isNewestFirst
            ? reached.milliseconds - range.lowerBound.milliseconds
            : range.upperBound.milliseconds - reached.milliseconds
    }

    var next: Range<Instant>? {
        guard left > 0 else { return nil }
        var length = left
        let wanted = Double(limit) * Self.fill / max(density, .leastNonzeroMagnitude)
        if wanted < Double(length) { length = max(1, Int64(wanted)) }
        if let longest { length = min(length, longest) }
        // Two equal windows are better than a full window and a tiny one.
        if length < left, left < length * 2 { length = left / 2 + left % 2 }
        return isNewestFirst ? reached - length..<reached : reached..<reached + length
    }

    mutating func took(_ window: Range<Instant>, events: Int) {
        reached = isNewestFirst ? window.lowerBound : window.upperBound
        longest = nil
        shortAnswers = 0
        // The mean of the observed and the expected density, so that one quiet month does not make the next window a decade long.
        density = (density + Double(events) / Double(window.length)) / 2
    }

    /// Notes that the window holds more events than the service returns at once.
    ///
    /// - Parameter count: the number of events in the window; nil if it is unknown.
    /// - Returns: false when the window can't be cut any further.
    mutating func hadTooMany(_ window: Range<Instant>, count: Int?) -> Bool {
        if let count, count <= limit { limit = max(1, count / 2) }
        return cut(window, holding: max(count ?? 2 * limit, leastCut * limit))
    }

    private mutating func cut(_ window: Range<Instant>, holding count: Int) -> Bool {
        guard window.length > 1 else { return false }
        let counted = Double(max(count, limit + 1))
        density = max(density, counted / Double(window.length))
        let fitting = Int64(Double(window.length) * Double(limit) * Self.fill / counted)
        longest = max(1, min(window.length - 1, fitting))
        return true
    }

    /// Notes that the service gave fewer events of the window than it counts. The same window is requested again. If the answer
    /// is short again, the number of events given becomes the limit, so that the next windows hold fewer events.
    ///
    /// - Parameter answer: the short answer; nil if the service now counts no more events than it gave. Then there is nothing to
    ///   cut, and the same window is requested again.
    /// - Returns: false when another request is useless: the window can't be cut any further, the service gives at most one
    ///   event, or it has given too few events more than four times in a row.
    mutating func hadTooFew(_ window: Range<Instant>, _ answer: ShortAnswer?) -> Bool {
        shortAnswers += 1
        guard shortAnswers <= 4 else { return false }
        guard let answer, shortAnswers > 1 else { return true }
        guard answer.given > 1 else { return false }
        limit = min(limit, answer.given)
        return cut(window, holding: answer.counted)
    }
}

extension Range<Instant> {
    fileprivate var length: Int64 { upperBound.milliseconds - lowerBound.milliseconds }
}
