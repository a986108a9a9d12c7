import Feed
import PostgreSQL
import QuakeStore
import Synchronization

/// Takes the body of an answer, on the thread of the connection that brings its rows. Compresses it if the client wants that.
///
/// A body consists of bytes, or of events. The head of events may say how many there are: until it is written, they are held back.
final class AnswerWriter: Sendable {
    /// Just less than a power of two, which buffers grow to.
    private static let pieceSize = 60 << 10

    private let spool: Spool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var compressor: GzipEncoder?
        var encoder: (any EventEncoder)?
        var bytes: [UInt8] = []
        var lacksHead = false
        /// Bytes that the spool does not have yet. The end of a short answer comes with the rest, so that it is sent at once.
        var held: [UInt8] = []
        var catalogue: CatalogueState?
        var rows = 0
        var hasWritten = false

        mutating func take(isLast: Bool = false) -> [UInt8] {
            guard isLast || !lacksHead && bytes.count >= AnswerWriter.pieceSize else { return [] }
            let taken = bytes
            (bytes, hasWritten) = ([], true)
            let piece = compressor?.compress(taken, isLast: isLast) ?? taken
            held = held.isEmpty ? piece : held + piece
            guard isLast || held.count >= AnswerWriter.pieceSize else { return [] }
            defer { held = [] }
            return held
        }
    }

    init(_ spool: Spool, isCompressed: Bool) {
        self.spool = spool
        state = Mutex(State(compressor: isCompressed ? GzipEncoder() : nil))
    }

    /// - Throws: `CancellationError` when the client has left.
    func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        let piece = state.withLock { state in
            state.hasWritten = true
            state.bytes += bytes
            return state.take()
        }
        if !piece.isEmpty { try spool.append(piece) }
    }

    /// Begins with events, which are held back until `writeHead`. Any that were held back before are forgotten.
    ///
    /// - Returns: the properties that their rows need, in this order.
    func begin(_ encoder: any EventEncoder) -> [Property] {
        state.withLock { state in
            (state.encoder, state.bytes, state.lacksHead, state.rows) = (encoder, [], true, 0)
        }
        return type(of: encoder).properties
    }

    /// Puts the head in front of the events. From now on, they are handed over.
    ///
    /// - Parameter count: how many events there will be.
    func writeHead(of count: Int) {
        state.withLock { state in
            let head = state.encoder?.head(of: count) ?? ""
            state.bytes.insert(contentsOf: head.utf8, at: 0)
            state.lacksHead = false
        }
    }

    /// Appends the event of a row.
    ///
    /// - Throws: `RowError`; `CancellationError` when the client has left.
    func append(_ row: inout Row) throws {
        // The closure of a lock cannot take the row along.
        var taken = row
        let piece = try state.withLock { state -> [UInt8] in
            state.rows += 1
            try state.encoder?.append(&taken, to: &state.bytes)
            return state.take()
        }
        row = taken
        if !piece.isEmpty { try spool.append(piece) }
    }

    /// Notes the state of the catalogue that the body is of, as soon as the answer's transaction has begun.
    func note(_ catalogue: CatalogueState) { state.withLock { $0.catalogue = catalogue } }

    var catalogue: CatalogueState? { state.withLock { $0.catalogue } }
    /// Whether it is too late to answer with an error.
    var hasWritten: Bool { state.withLock { $0.hasWritten } }
    /// How many events the body has, as far as they were appended.
    var rows: Int { state.withLock { $0.rows } }

    /// Hands over the end of the events and the rest, on the same thread.
    func finish() throws {
        let rest = state.withLock { state in
            state.encoder?.finish(&state.bytes)
            return state.take(isLast: true)
        }
        try spool.append(rest, isLast: true)
    }
}
