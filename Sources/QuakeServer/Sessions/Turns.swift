import Synchronization

/// Lets a few do something at a time. The others wait in line, however many they are.
final class Turns: Sendable {
    private let state: Mutex<State>

    private struct State {
        var free: Int
        /// Those who wait, the first one first.
        var line: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastID = 0
    }

    init(_ count: Int) { state = Mutex(State(free: count)) }

    /// How many wait.
    var waiting: Int { state.withLock { $0.line.count } }

    /// Runs `body` when it is its turn.
    ///
    /// - Throws: `CancellationError`; what `body` throws.
    func take<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await wait()
        defer { end() }
        return try await body()
    }

    private func wait() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.free > 0 {
                        state.free -= 1
                        return .success(())
                    }
                    state.line.append((id, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                state.line.firstIndex { $0.id == id }.map { state.line.remove(at: $0).continuation }
            }
            continuation?.resume(throwing: CancellationError())
        }
    }

    private func end() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.line.isEmpty else {
                state.free += 1
                return nil
            }
            return state.line.removeFirst().continuation
        }
        next?.resume()
    }
}
