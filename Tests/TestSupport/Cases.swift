import Testing

/// Runs `body` for each case. An error is recorded with its case, and the next case still runs, as in a parameterised test.
///
/// - Throws: `CancellationError`.
public func forEachCase<Case>(
    of cases: [Case], sourceLocation: SourceLocation = #_sourceLocation, _ body: (Case) async throws -> Void
) async throws {
    for one in cases {
        try Task.checkCancellation()
        do {
            try await body(one)
        } catch {
            Issue.record(error, "\("\(one)".prefix(200))", sourceLocation: sourceLocation)
        }
    }
}
