import QuakeStore

/// Shows the progress of a backfill and the time that is left. At a terminal it rewrites one line. Elsewhere it prints
/// a line every 30 s.
struct BackfillLine {
    private let start = ContinuousClock.now
    private var first: Int?
    private var next = ContinuousClock.now

    mutating func show(_ progress: Backfill.Progress) {
        let first = self.first ?? progress.events
        self.first = first
        let done = progress.events - first
        let left = max(0, progress.expected - progress.events)
        let elapsed = ContinuousClock.now - start
        let estimate =
            done > 0 && progress.expected > 0
            ? ", about \((elapsed * (Double(left) / Double(done))).rough) left" : ""
        let expected =
            progress.expected > 0
            ? ("\(min(99, progress.events * 100 / progress.expected))%, ", " of about \(progress.expected)")
            : ("", "")
        let text =
            "backfill: \(expected.0)\(progress.events)\(expected.1) events, up to \(progress.reached.shortText)\(estimate)"
        if StandardError.isTerminal {
            StandardError.replaceLine(text)
        } else if ContinuousClock.now >= next {
            next = .now + .seconds(30)
            StandardError.print("quakes: \(text)")
        }
    }

    func end() {
        if StandardError.isTerminal { StandardError.replaceLine("") }
    }
}
