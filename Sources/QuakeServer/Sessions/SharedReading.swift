import Synchronization

/// A value that many ask for at the same time, and that is read for all of them at once.
///
/// A caller that asks while a reading runs waits for the next one, because the value may have changed since that one began. The
/// first of them then reads for all who wait.
final class SharedReading<Value: Sendable>: Sendable {
    private let read: @Sendable () async throws -> Value
    private let state = Mutex(State())

    private struct State {
        var isRunning = false
        var waiting: [CheckedContinuation<Turn, Never>] = []
    }

    private enum Turn {
        case read([CheckedContinuation<Turn, Never>])
        case told(Result<Value, any Error>)
    }

    init(_ read: @escaping @Sendable () async throws -> Value) {
        self.read = read
    }

    /// The value, by a reading that begins after this call.
    ///
    /// - Returns: a failure if the reading fails.
    func result() async -> Result<Value, any Error> {
        switch await turn() {
        case .told(let result): return result
        case .read(let others):
            let result: Result<Value, any Error>
            do { result = .success(try await read()) } catch { result = .failure(error) }
            for other in others { other.resume(returning: .told(result)) }
            passOn()
            return result
        }
    }

    private func turn() async -> Turn {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                defer { state.isRunning = true }
                if state.isRunning { state.waiting.append(continuation) }
                return !state.isRunning
            }
            if isFirst { continuation.resume(returning: .read([])) }
        }
    }

    private func passOn() {
        let waiting = state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            defer { state.waiting = [] }
            return state.waiting
        }
        waiting.first?.resume(returning: .read(Array(waiting.dropFirst())))
    }
}
