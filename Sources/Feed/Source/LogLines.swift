import Glibc
import Synchronization

/// Writes lines that may be lost: log lines, access logs, and a daemon's reports about its runs.
///
/// Writing never fails and never ends the process. Lines that can't be written, because a disk is full or the reader went away,
/// are counted. The number is reported as soon as lines can be written again.
package final class LogLines: Sendable {
    private let descriptor: Int32
    private let state = Mutex(State())

    private struct State {
        /// The number of lines that were lost since the last line that was written.
        var lost = 0
        var reason = ""
        var hasEverLost = false
        /// Whether the last line was written in part.
        var isTorn = false
    }

    package init(to descriptor: Int32) { self.descriptor = descriptor }

    package var hasLost: Bool { state.withLock { $0.hasEverLost } }

    package enum Outcome: Equatable {
        case written
        /// The line could not be written, for this reason. The previous line was written.
        case lost(String)
        case lostAgain
        /// The line was written, but earlier lines were lost. The text says how many, and why.
        case writtenAgain(String)
    }

    /// - Parameter note: turns the text about lost lines into a line of this log; nil if the caller reports lost lines.
    @discardableResult
    package func write(_ text: String, note: ((String) -> String)? = nil) -> Outcome {
        state.withLock { state in
            let lost = state.lost
            let words = "\(lost) line\(lost == 1 ? " was" : "s were") lost: \(state.reason)"
            var lines = text
            if lost > 0, let note { lines = note(words) + "\n" + lines }
            if state.isTorn { lines = "\n" + lines }
            guard append(lines, &state) else { return lost == 0 ? .lost(state.reason) : .lostAgain }
            state.lost = 0
            return lost == 0 ? .written : .writtenAgain(words)
        }
    }

    private func append(_ text: String, _ state: inout State) -> Bool {
        var rest = Array(text.utf8)[...]
        let size = rest.count
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                state.reason = String(cString: strerror(errno))
                state.lost += 1
                state.hasEverLost = true
                state.isTorn = state.isTorn || rest.count < size
                return false
            }
            rest = rest.dropFirst(written)
        }
        state.isTorn = false
        return true
    }
}
