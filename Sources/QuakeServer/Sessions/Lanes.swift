/// Who may use how many of the sessions at once. What is costly has a lane of its own, so that what is short never stands
/// behind it.
struct Lanes: Sendable {
    let short: Turns
    /// For what is known to be long before it starts.
    let costly: Turns

    init(sessions: Int) {
        let costly = max(1, sessions / 2)
        (short, self.costly) = (Turns(max(1, sessions - costly)), Turns(costly))
    }

    /// How many wait.
    var waiting: Int { short.waiting + costly.waiting }
}

/// Runs `body`, and cancels it when the time is up.
///
/// - Throws: `Reply` 503 when the time is up; what `body` throws.
func limited<Result: Sendable>(
    to limit: Duration, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await Task.sleep(for: limit)
            return nil
        }
        defer { group.cancelAll() }
        guard let result = try await group.next() ?? nil else {
            throw Reply.unavailable("The database took too long.")
        }
        return result
    }
}
