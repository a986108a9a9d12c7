import Synchronization

/// Takes the body of an answer, on the thread of the connection that brings its rows. Compresses it if the client wants that.
public final class AnswerWriter: Sendable {
    private let spool: AnswerSpool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var encoder: GzipEncoder?
        var rows = 0
        var bytes = 0
        var hasWritten = false
    }

    init(_ spool: AnswerSpool, isCompressed: Bool) {
        self.spool = spool
        state = Mutex(State(encoder: isCompressed ? GzipEncoder() : nil))
    }

    /// Hands over the next bytes of the body: better some 64 KiB than one row.
    ///
    /// - Throws: `CancellationError` when the client is gone.
    public func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        let encoded = state.withLock { state in
            state.hasWritten = true
            state.bytes += bytes.count
            return state.encoder?.compress(bytes) ?? bytes
        }
        try spool.append(encoded)
    }

    /// Counts rows, for the metrics.
    public func countRows(_ count: Int) {
        state.withLock { $0.rows += count }
    }

    /// Whether an error can no longer become an answer of its own.
    var hasWritten: Bool { state.withLock { $0.hasWritten } }
    var rows: Int { state.withLock { $0.rows } }

    func finish() throws {
        try spool.append(state.withLock { $0.encoder?.compress([], isLast: true) ?? [] })
        spool.finish()
    }
}
