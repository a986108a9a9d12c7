import Synchronization

/// The progress of the first pass after a connect. That pass may be long.
public struct PassProgress: Sendable, Equatable {
    /// Whether the pass reads all rows; if false, it reads the changes.
    public let isSnapshot: Bool
    /// The approximate number of rows that the pass will read.
    public let expected: Int
    /// The number of rows that were read so far.
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

    /// Reports the end of the pass. Call it after a failure, too.
    func end() {
        let progress = progress.withLock {
            $0.isDone = true
            return $0
        }
        observer(progress)
    }
}
