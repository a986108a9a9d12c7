/// Waits until `condition` holds, at most `limit`, and says whether it did: for what another process does in its
/// own time.
///
/// On a busy machine a test may be without a thread for twenty seconds.
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

/// Waits until `condition` holds.
///
/// - Throws: `NeverHappened` when it does not within two minutes.
public func waitUntil(_ condition: () async throws -> Bool) async throws {
    guard try await eventually(within: .seconds(120), condition) else { throw NeverHappened() }
}

public struct NeverHappened: Error {}
