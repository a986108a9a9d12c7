import NIOCore
import Synchronization

/// A part of a pass in one form, with the bytes that are written to the response body.
struct LivePiece: Sendable {
    let bytes: ByteBuffer
    /// The line of the pass that the next piece begins with; nil at the end of the pass.
    let next: Int?
}

/// A cache of the newest pieces. Most clients are at the same place in the passes, and share the pieces.
final class LivePieces: Sendable {
    private static let limit = 16 << 20
    private let kept = Mutex(Kept())

    private struct Kept {
        var pieces: [Key: LivePiece] = [:]
        /// The keys of `pieces`, the oldest first.
        var keys = CircularBuffer<Key>()
        var size = 0

        mutating func add(_ piece: LivePiece, _ key: Key) {
            guard pieces.updateValue(piece, forKey: key) == nil else { return }
            keys.append(key)
            size += piece.bytes.readableBytes
            while size > LivePieces.limit, keys.count > 1, let oldest = keys.popFirst() {
                size -= pieces.removeValue(forKey: oldest)?.bytes.readableBytes ?? 0
            }
        }
    }

    private struct Key: Hashable {
        let pass: Int
        let form: StreamForm
        let line: Int
    }

    func piece(_ form: StreamForm, _ selected: SelectedChanges?, of pass: LivePass, from line: Int)
        -> LivePiece
    {
        let key = Key(pass: pass.number, form: form, line: line)
        if let known = kept.withLock({ $0.pieces[key] }) { return known }
        let (bytes, next) = pass.written(form, selected, from: line)
        let piece = LivePiece(bytes: form.framed(bytes), next: next)
        kept.withLock { $0.add(piece, key) }
        return piece
    }

    func forget() { kept.withLock { $0 = Kept() } }
}
