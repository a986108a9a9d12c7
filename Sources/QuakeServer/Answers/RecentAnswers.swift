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
        var bodies: [ExactText: Body] = [:]
        /// The keys of `bodies`, the oldest first.
        var keys: [ExactText] = []
        var size = 0

        func isValid(at state: CatalogueState) -> Bool {
            self.state == state
                && since.duration(to: .now) < .seconds(60)
        }

        mutating func add(_ body: Body, _ key: ExactText) {
            guard bodies[key] == nil else { return }
            bodies[key] = body
            keys.append(key)
            size += RecentAnswers.size(body, key)
            var surplus = 0
            while size > RecentAnswers.limit, let oldest = bodies.removeValue(forKey: keys[surplus]) {
                size -= RecentAnswers.size(oldest, keys[surplus])
                surplus += 1
            }
            keys.removeFirst(surplus)
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
        guard Self.size(body, ExactText(key)) <= Self.limit / 64 else { return }
        kept.withLock { kept in
            if !kept.isValid(at: state) { kept = Kept(state: state) }
            kept.add(body, ExactText(key))
        }
    }

    private static func size(_ body: Body, _ key: ExactText) -> Int {
        body.bytes.readableBytes + key.text.utf8.count
    }
}
