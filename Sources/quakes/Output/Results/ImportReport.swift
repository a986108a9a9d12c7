import Feed
import Glibc
import QuakeStore

/// Reports how each run of an import ended: the summary as a result, and the reason for a failure as an error.
struct ImportReport {
    let format: TextFormat
    let options: DatabaseOptions
    /// Whether the process is a daemon. The lines of a daemon begin with the time.
    let isDaemon: Bool
    /// The reports use `LogLines`, because a line that can't be written must not end the import: the run is done, and other runs
    /// may follow.
    private static let lines = LogLines(to: STDOUT_FILENO)

    /// - Parameter isSaid: whether the error is printed by another part of the program.
    func add(_ summary: ImportSummary, isSaid: Bool = false) {
        switch format {
        case .json: write(summary.json.jsonText)
        // If the log is JSON, it already contains the summary, and a second line would often go to the same journal. If the run
        // failed before it read an event, its summary would contain only zeros.
        case .text where options.logFormat == .text && (summary.failure == nil || summary.counts.seen > 0):
            write(isDaemon ? "\(Instant.now) \(summary.text)" : summary.text)
        case .text: break
        }
        if options.logFormat == .json {
            options.logger().log(
                level: summary.outcome == .failed ? .error : .notice, "run ended", metadata: summary.metadata)
        } else if !isSaid, let failure = summary.failure, !(failure is CancellationError) {
            let text = Self.text(of: failure, importing: summary.source)
            if isDaemon { options.logger().error("\(text)") } else { StandardError.say(text, level: .error) }
        }
    }

    private func write(_ line: String) {
        switch Self.lines.write(line + "\n") {
        case .written, .lostAgain: break
        case .lost(let reason): StandardError.say("cannot write the output: \(reason)", level: .error)
        case .writtenAgain(let words): StandardError.say("standard output: \(words)", level: .warning)
        }
    }

    /// Whether all lines were written.
    static var isComplete: Bool { !lines.hasLost }

    /// Reports sources that were not imported. Programs get one object for each source; people see the error only once.
    func add(unreached sources: some Sequence<FeedSource>, because error: any Error) {
        for source in sources { add(ImportSummary(source: source, failure: error), isSaid: true) }
    }

    /// The text of the error, preceded by the source unless the text names it already.
    private static func text(of error: any Error, importing source: FeedSource) -> String {
        switch error {
        case FeedError.noInput, FeedError.unavailable, is SourceBusy: "\(error)"
        default: "\(source): \(error)"
        }
    }
}
