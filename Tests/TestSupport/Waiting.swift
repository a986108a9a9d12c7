import Foundation
import Testing

/// Waits until `condition` holds. There is no time limit, because on a busy machine, a test may wait a minute for a thread.
///
/// If the condition never holds, `scripts/test` ends the run, which makes no progress. After a minute, this function starts to
/// print where it waits.
public func waitUntil(
    file: String = #fileID, line: Int = #line, _ condition: () async throws -> Bool
) async throws {
    let start = ContinuousClock.now
    var reminder = Duration.seconds(60)
    while try await !condition() {
        let waited = ContinuousClock.now - start
        if waited > reminder {
            let test = Test.current?.name ?? "a test"
            say("Still waiting after \(waited.components.seconds) s: \(test) at \(file):\(line)")
            reminder *= 2
        }
        // Frequent checks would cost time that other tasks need to make the condition true.
        try await Task.sleep(for: min(max(waited / 4, .milliseconds(2)), .milliseconds(50)))
    }
}

/// Waits until `condition` holds, at most for `limit`, and returns whether it held. Use this for a condition that may stay false.
///
/// Use `waitUntil` for a condition that must become true.
public func eventually(
    within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async throws -> Bool {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { return false }
        try await Task.sleep(for: .milliseconds(5))
    }
    return true
}

/// Prints a line at once. Unlike a line that `print` buffers, it appears even if the process is killed afterwards.
package func say(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}
