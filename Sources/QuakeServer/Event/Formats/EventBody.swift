import Feed
import PostgreSQL
import Synchronization

/// The body of an answer: collects its bytes, and hands them on in chunks once it has begun.
final class EventBody: Sendable {
    /// What the rows have to bring, in this order.
    let properties: [Property]
    private let write: @Sendable ([UInt8]) throws -> Void
    private let state: Mutex<State>

    private struct State {
        var encoder: any EventEncoder
        var bytes: [UInt8] = []
        var count = 0
        var hasBegun = false

        mutating func take() -> [UInt8] {
            defer { bytes = [] }
            return bytes
        }
    }

    init(_ encoder: any EventEncoder, _ write: @escaping @Sendable ([UInt8]) throws -> Void) {
        properties = type(of: encoder).properties
        self.write = write
        state = Mutex(State(encoder: encoder))
    }

    /// How many events were appended.
    var count: Int { state.withLock { $0.count } }

    func append(_ row: inout Row) throws {
        // The closure of a lock cannot take the row along.
        var taken = row
        let full = try state.withLock { state -> [UInt8] in
            state.count += 1
            try state.encoder.append(&taken, to: &state.bytes)
            return state.hasBegun && state.bytes.count >= AnswerWriter.pieceSize ? state.take() : []
        }
        row = taken
        if !full.isEmpty { try write(full) }
    }

    /// Puts the head in front of what was appended. From now on, bytes are handed on.
    ///
    /// - Parameter count: how many events there will be.
    func begin(_ count: Int) {
        state.withLock { state in
            let head = state.encoder.head(of: count)
            state.bytes.insert(contentsOf: head.utf8, at: 0)
            state.hasBegun = true
        }
    }

    /// Hands on what is left, and the end of the document.
    func finish() throws {
        let rest = state.withLock { state in
            state.encoder.finish(&state.bytes)
            return state.take()
        }
        if !rest.isEmpty { try write(rest) }
    }
}
