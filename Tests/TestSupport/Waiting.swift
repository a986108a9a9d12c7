import Foundation
import Testing

/// Waits until `condition` holds, however long that takes: a busy machine may leave a test without a thread for a minute.
///
/// What never comes is not ended here. `scripts/test` ends a run in which nothing moves any more, and from the first
/// minute on this says where it waits.
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
        // Asking often costs the time that others need to get there.
        try await Task.sleep(for: min(max(waited / 4, .milliseconds(2)), .milliseconds(50)))
    }
}

/// Waits until `condition` holds, at most `limit`, and says whether it did: for what need not come.
///
/// What has to come is waited for with `waitUntil`.
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

/// Prints a line at once: it is there also when the process is killed afterwards, as a line that `print` buffers is not.
package func say(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}
