import Feed
import QuakeStore

/// Shows the progress of a long task on one line of a terminal. Each text replaces the previous one.
struct ProgressLine {
    /// The time between two lines if standard error is not a terminal; nil to print none.
    var pause: Duration?
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now
    private var isShown = false

    init(elsewhereEvery pause: Duration? = nil) { self.pause = pause }

    mutating func show(_ progress: @autoclosure () -> ProgressState) {
        let now = ContinuousClock.now
        guard now >= next else { return }
        if StandardError.isTerminal {
            next = now + .milliseconds(200)
            isShown = true
            StandardError.replaceLine(progress().text(after: now - start))
        } else if let pause {
            next = now + pause
            StandardError.say(progress().text(after: now - start))
        }
    }

    mutating func clear() {
        if isShown { StandardError.replaceLine("") }
        isShown = false
    }
}

struct ProgressState {
    var name: String
    /// Such as `1200 events`.
    var amount: String
    /// The number of items so far. `resumedAt` is the number of items that were done before the task was resumed.
    var count: Int
    var resumedAt = 0
    /// How much is done, from 0 to 1; nil if the total is unknown.
    var fraction: Double?

    /// For example, `all_month: 45%, 5214 events, 3.6 MB, 5200/s, 3 s left`.
    func text(after elapsed: Duration) -> String {
        let seconds = elapsed / .seconds(1)
        var parts = [amount]
        if seconds > 0 { parts.append("\(Int(Double(count - resumedAt) / seconds))/s") }
        // At most 99%, because the bytes that were read last still have to be imported.
        if let fraction = fraction.map({ min($0, 0.99) }) {
            parts.insert("\(Int(fraction * 100))%", at: 0)
            let done = fraction * Double(count - resumedAt) / Double(max(1, count))
            if done > 0.01, seconds >= 1 {
                parts.append("\((elapsed * ((1 - fraction) / done)).rough) left")
            }
        }
        return "\(name): \(parts.joined(separator: ", "))"
    }
}

extension ProgressState {
    init(_ progress: Importer.Progress, of source: FeedSource) {
        let megabytes = Double(progress.bytes / 100_000) / 10
        let name = strippingControlCharacters(source.shortName ?? "\(source)")
        self.init(
            name: name.count > 40 ? "…\(name.suffix(39))" : name,
            amount: "\(progress.features) events, \(megabytes) MB", count: progress.features)
        if let length = progress.arrival.length, length > 0 {
            fraction = Double(progress.arrival.bytes) / Double(length)
        }
    }

    init(_ progress: PassProgress) {
        let kind = progress.isSnapshot ? "snapshot" : "catching up"
        let rows = progress.isSnapshot ? "earthquakes" : "changed earthquakes"
        self.init(
            name: kind, amount: "\(progress.rows) of about \(max(progress.rows, progress.expected)) \(rows)",
            count: progress.rows)
        if progress.expected > 0 { fraction = Double(progress.rows) / Double(progress.expected) }
    }

    init(_ progress: Backfill.Progress, resumedAt: Int) {
        let expected = progress.expected > 0 ? " of about \(progress.expected)" : ""
        self.init(
            name: "backfill",
            amount: "\(progress.events)\(expected) events, up to \(progress.reached.shortText)",
            count: progress.events, resumedAt: resumedAt)
        if progress.expected > 0 { fraction = Double(progress.events) / Double(progress.expected) }
    }
}
