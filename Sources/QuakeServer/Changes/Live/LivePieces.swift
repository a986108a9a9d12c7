import NIOCore
import Synchronization

/// Some of a pass in one form, as it stands in the body: the same bytes for all clients that get it.
final class LivePiece: Sendable {
    let bytes: ByteBuffer
    /// The line of the pass that follows; nil at its end.
    let next: Int?
    private let pieces: LivePieces

    fileprivate init(_ bytes: ByteBuffer, next: Int?, of pieces: LivePieces) {
        (self.bytes, self.next, self.pieces) = (bytes, next, pieces)
        pieces.grow(by: bytes.readableBytes)
    }

    deinit { pieces.grow(by: -bytes.readableBytes) }
}

/// The pieces that are in use. The newest ones are kept a moment longer, because most clients are at the same place.
final class LivePieces: Sendable {
    private let limit: Int
    private let state = Mutex(State())
    private let size = Mutex(0)

    private struct State {
        var kept: [Key: LivePiece] = [:]
        /// The keys of those that are kept, the oldest first.
        var order = CircularBuffer<Key>()
        var size = 0

        /// Gives up the oldest one.
        mutating func removeFirst() {
            size -= kept.removeValue(forKey: order.removeFirst())?.bytes.readableBytes ?? 0
        }
    }

    private struct Key: Hashable {
        let pass: Int
        let form: StreamForm
        let line: Int
    }

    /// - Parameter limit: how many bytes all pieces together should have.
    init(limit: Int) { self.limit = limit }

    /// Whether there are too many, because slow clients hold them.
    var isFull: Bool { size.withLock { $0 > limit } }

    fileprivate func grow(by count: Int) { size.withLock { $0 += count } }

    func piece(_ form: StreamForm, _ selected: SelectedChanges?, of pass: LivePass, from line: Int)
        -> LivePiece
    {
        let key = Key(pass: pass.number, form: form, line: line)
        if let kept = state.withLock({ $0.kept[key] }) { return kept }
        let (bytes, next) = pass.written(form, selected, from: line)
        let piece = LivePiece(form.framed(bytes), next: next, of: self)
        return state.withLock { state in
            if let kept = state.kept[key] { return kept }
            state.kept[key] = piece
            state.order.append(key)
            state.size += piece.bytes.readableBytes
            while state.size > limit / 4, state.kept.count > 1 { state.removeFirst() }
            return piece
        }
    }

    func forget() { state.withLock { $0 = State() } }
}
