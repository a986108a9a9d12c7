import Synchronization

/// The progress of a long pass: the first one after a start, or a fresh snapshot.
public struct PassProgress: Sendable, Equatable {
    /// Whether the pass reads all rows; otherwise it reads the changes.
    public let isSnapshot: Bool
    /// About how many rows the pass will have.
    public let expected: Int
    /// How many rows it has had so far.
    public var rows = 0
    public var isDone = false
}

final class PassCounter: Sendable {
    private let progress: Mutex<PassProgress>
    private let observer: @Sendable (PassProgress) -> Void

    init(isSnapshot: Bool, expected: Int, observer: @escaping @Sendable (PassProgress) -> Void) {
        progress = Mutex(PassProgress(isSnapshot: isSnapshot, expected: expected))
        self.observer = observer
    }

    func countRow() {
        let progress = progress.withLock {
            $0.rows += 1
            return $0
        }
        if progress.rows.isMultiple(of: 1000) { observer(progress) }
    }

    /// Called also after a failure, because the pass has no more rows then.
    func end() {
        let progress = progress.withLock {
            $0.isDone = true
            return $0
        }
        observer(progress)
    }
}
