import Feed
import QuakeStore

/// Shows the progress of an import on one line of a terminal, which it keeps rewriting.
struct ProgressLine {
    let source: FeedSource
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now + .milliseconds(200)
    private var isShown = false

    init(source: FeedSource) {
        self.source = source
    }

    mutating func show(_ progress: Importer.Progress) {
        let now = ContinuousClock.now
        guard StandardError.isTerminal, now >= next else { return }
        next = now + .milliseconds(200)
        isShown = true
        let rate = Int(Double(progress.features) / ((now - start) / .seconds(1)))
        let megabytes = Double(progress.bytes / 100_000) / 10
        let name = strippingControlCharacters("\(source)").suffix(40)
        StandardError.replaceLine("\(name): \(progress.features) features, \(megabytes) MB, \(rate)/s")
    }

    func clear() {
        if isShown { StandardError.replaceLine("") }
    }
}
