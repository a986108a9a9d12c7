import NIOCore
import Synchronization

/// A part of a pass in one form, with the bytes that are written to the response body.
struct LivePiece: Sendable {
    let bytes: ByteBuffer
    /// The line of the pass with which the next piece begins; nil at the end of the pass.
    let next: Int?
}

/// A cache of the newest pieces. Most clients are at the same place in the passes, and share the pieces.
final class LivePieces: Sendable {
    private let kept = Mutex(ByteBoundedCache<Key, LivePiece>(limit: 16 << 20))

    private struct Key: Hashable {
        let pass: Int
        let form: StreamForm
        let line: Int
    }

    func piece(_ form: StreamForm, _ selected: SelectedChanges?, of pass: LivePass, from line: Int)
        -> LivePiece
    {
        let key = Key(pass: pass.number, form: form, line: line)
        if let known = kept.withLock({ $0[key] }) { return known }
        let (bytes, next) = pass.written(form, selected, from: line)
        let piece = LivePiece(bytes: form.framed(bytes), next: next)
        kept.withLock { $0.add(piece, key, size: piece.bytes.readableBytes) }
        return piece
    }

    func forget() { kept.withLock { $0.removeAll() } }
}
