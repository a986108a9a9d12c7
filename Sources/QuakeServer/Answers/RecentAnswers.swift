import Feed
import NIOCore
import QuakeStore
import Synchronization

/// A cache of recent short answers, for repeated requests while the catalogue is unchanged.
///
/// All answers are from the same state; the first answer from a new state drops them. They take 4 MiB at most: beyond that, the
/// oldest answers are dropped. No answer is used for longer than a minute, because a change that the history does not record
/// creates no new state.
final class RecentAnswers: Sendable {
    struct Body {
        let bytes: ByteBuffer
        let rows: Int
    }

    private static let limit = 4 << 20
    private let kept = Mutex(Kept())

    private struct Kept {
        /// The state that all kept answers show, without the settled documents.
        var state: CatalogueState?
        var since = ContinuousClock.now
        /// Keys are compared byte by byte, because they can contain event codes.
        var bodies = ByteBoundedCache<ExactText, Body>(limit: RecentAnswers.limit)

        func isValid(at state: CatalogueState) -> Bool {
            self.state == state
                && since.duration(to: .now) < .seconds(60)
        }
    }

    /// Whether an answer is kept under this key, even one from an outdated state.
    func has(_ key: String) -> Bool {
        kept.withLock { $0.bodies[ExactText(key)] != nil }
    }

    func body(_ key: String, at state: CatalogueState) -> Body? {
        kept.withLock { $0.isValid(at: state) ? $0.bodies[ExactText(key)] : nil }
    }

    func keep(_ body: Body, _ key: String, at state: CatalogueState) {
        let size = body.bytes.readableBytes + key.utf8.count
        guard size <= Self.limit / 64 else { return }
        kept.withLock { kept in
            if !kept.isValid(at: state) { kept = Kept(state: state) }
            kept.bodies.add(body, ExactText(key), size: size)
        }
    }
}
