import Feed
import PostgreSQL
import QuakeStore
import Synchronization

/// Writes the body of an answer into a spool, on the thread of the connection that reads its rows. The body is compressed if the
/// client accepts gzip.
///
/// A body consists of bytes or of events. The head in front of the events may contain their number, so events are held back until
/// the head is written.
final class AnswerWriter: Sendable {
    /// The size in bytes at which a piece is passed on. Buffers grow to powers of two, so 60 KiB leave room in a buffer of 64 KiB
    /// for the event that completes the piece.
    private static let pieceSize = 60 << 10

    private let spool: Spool
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var compressor: GzipEncoder?
        var encoder: (any EventEncoder)?
        var bytes: [UInt8] = []
        var lacksHead = false
        /// Bytes that were not passed to the spool yet. If the answer is short, its end is added to these bytes, so that the
        /// whole answer is sent at once.
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

    /// - Throws: the errors of `Spool.append`, such as `CancellationError` when the client has left.
    func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        let piece = state.withLock { state in
            state.hasWritten = true
            state.bytes += bytes
            return state.take()
        }
        if !piece.isEmpty { try spool.append(piece) }
    }

    /// Begins a body of events, which are held back until `writeHead` is called. Events that an earlier call has held back are
    /// discarded.
    ///
    /// - Returns: the properties that each row must have, in this order.
    func begin(_ encoder: any EventEncoder) -> [Property] {
        state.withLock { state in
            (state.encoder, state.bytes, state.lacksHead, state.rows) = (encoder, [], true, 0)
        }
        return type(of: encoder).properties
    }

    /// Puts the head in front of the events. From now on, events are passed to the spool.
    ///
    /// - Parameter count: the number of events that the body will have.
    func writeHead(of count: Int) {
        state.withLock { state in
            let head = state.encoder?.head(of: count) ?? ""
            state.bytes.insert(contentsOf: head.utf8, at: 0)
            state.lacksHead = false
        }
    }

    /// Appends the event of a row.
    ///
    /// - Throws: `RowError`; the errors of `Spool.append`, such as `CancellationError` when the client has left.
    func append(_ row: inout Row) throws {
        // The closure of `withLock` cannot capture an `inout` parameter.
        var taken = row
        let piece = try state.withLock { state -> [UInt8] in
            state.rows += 1
            try state.encoder?.append(&taken, to: &state.bytes)
            return state.take()
        }
        row = taken
        if !piece.isEmpty { try spool.append(piece) }
    }

    /// Notes the catalogue's state that the body shows. Called as soon as the answer's transaction has begun.
    func note(_ catalogue: CatalogueState) { state.withLock { $0.catalogue = catalogue } }

    var catalogue: CatalogueState? { state.withLock { $0.catalogue } }
    /// Whether a part of the body was written, so that the answer can no longer be an error.
    var hasWritten: Bool { state.withLock { $0.hasWritten } }
    /// How many events were appended so far.
    var rows: Int { state.withLock { $0.rows } }

    /// Writes the end of the events and passes the rest of the body to the spool. Call it on the same thread as the other
    /// methods.
    func finish() throws {
        let rest = state.withLock { state in
            state.encoder?.finish(&state.bytes)
            return state.take(isLast: true)
        }
        try spool.append(rest, isLast: true)
    }
}
