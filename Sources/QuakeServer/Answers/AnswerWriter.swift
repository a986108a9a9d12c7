import Synchronization

/// Takes the body of an answer, on the thread of the connection that brings its rows. Compresses it if the client wants that.
final class AnswerWriter: Sendable {
    /// How many bytes to hand over at a time. Just less than a power of two, which buffers grow to.
    static let pieceSize = 60 << 10

    private let spool: Spool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var encoder: GzipEncoder?
        /// What the spool does not have yet. The end of a short answer comes with all the rest, so that it is sent at once.
        var held: [UInt8] = []
        var rows = 0
        var hasWritten = false

        mutating func takeHeld() -> [UInt8] {
            defer { held = [] }
            return held
        }
    }

    init(_ spool: Spool, isCompressed: Bool) {
        self.spool = spool
        state = Mutex(State(encoder: isCompressed ? GzipEncoder() : nil))
    }

    /// Hands over the next bytes of the body: better a piece than one row.
    ///
    /// - Throws: `CancellationError` when the client is gone.
    func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        let full = state.withLock { state in
            state.hasWritten = true
            state.held += state.encoder?.compress(bytes) ?? bytes
            return state.held.count >= Self.pieceSize ? state.takeHeld() : []
        }
        if !full.isEmpty { try spool.append(full) }
    }

    /// Counts rows, for the metrics.
    func countRows(_ count: Int) {
        state.withLock { $0.rows += count }
    }

    /// Whether an error can no longer become an answer of its own.
    var hasWritten: Bool { state.withLock { $0.hasWritten } }
    var rows: Int { state.withLock { $0.rows } }

    /// Hands over the rest, on the same thread.
    func finish() throws {
        let rest = state.withLock { state in
            state.held += state.encoder?.compress([], isLast: true) ?? []
            return state.takeHeld()
        }
        try spool.append(rest, isLast: true)
    }
}
