import Synchronization

/// Lets a limited number of tasks run at once. The others wait in the order in which they came.
final class Turns: Sendable {
    private let state: Mutex<State>

    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    init(_ count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn, and runs `body`.
    func run<Result>(_ body: () async throws -> Result) async throws -> Result {
        await withCheckedContinuation { turn in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(turn)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { turn.resume() }
        }
        defer { give() }
        return try await body()
    }

    private func give() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
