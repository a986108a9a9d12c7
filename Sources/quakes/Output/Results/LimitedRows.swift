import Synchronization

/// Hands on the rows of a listing up to its limit, and remembers whether there were more.
final class LimitedRows: Sendable {
    private let limit: RowLimit
    private let count = Mutex(0)

    init(_ limit: RowLimit) { self.limit = limit }

    /// Whether the next row is to be shown.
    func next() -> Bool {
        limit.admits(
            count.withLock {
                $0 += 1
                return $0
            })
    }

    /// Says that there are more, if so. `what` is such as "the newest".
    func finish(_ what: String) {
        if !limit.admits(count.withLock { $0 }) { limit.tellOfMore(what) }
    }
}
