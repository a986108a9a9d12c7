import Synchronization

/// The result of an import in numbers. `seen` is always the sum of inserted, updated, unchanged, stale and rejected.
public struct ImportCounts: Sendable, Equatable {
    public var seen = 0
    public var inserted = 0
    /// Events whose row was changed.
    public var updated = 0
    /// Features that equal the table's row.
    public var unchanged = 0
    /// Features that are older than the row with the same code, or than another feature of the document with that code.
    public var stale = 0
    /// Features that could not be imported, kept in `import.reject`.
    public var rejected = 0
    /// Events that were deleted because the document shows them under another code.
    public var superseded = 0
    /// Events that were deleted because the document no longer has them.
    public var retracted = 0
    /// Size of the document after decompression, in bytes.
    public var bytes = 0
    /// Rejected features whose id can't be read. Deletions are not counted here.
    var unreadable = 0
    /// Deletions without an id. They are rejected, but do not count as faults of the answer: nearly half of the deletions of the
    /// USGS have no id.
    var unnamed = 0
    /// Deletions that the document states. With only one rejected feature beside them, not all of the document was rejected.
    var stated = 0
    /// Whether the document is dated more than 5 minutes in the future.
    var isAhead = false
    /// Whether the document could have been settled, but was not: because of its rejects, because of the brake, or because the
    /// retraction is `never`.
    var isUnsettled = false
    /// Why nothing was deleted; nil if the brake did not stop the deletions.
    var brake: BrakeHeld?

    /// The ids of the import's first and last transaction in `history.transaction`; nil if nothing has changed.
    var history: ClosedRange<Int>?

    public init() {}

    /// The counts that are recorded in `import.run` and shown, with their names.
    public static let named: [(name: String, count: WritableKeyPath<ImportCounts, Int> & Sendable)] = [
        ("seen", \Self.seen), ("inserted", \Self.inserted), ("updated", \Self.updated),
        ("unchanged", \Self.unchanged), ("stale", \Self.stale), ("superseded", \Self.superseded),
        ("retracted", \Self.retracted), ("rejected", \Self.rejected), ("bytes", \Self.bytes),
    ]

    /// Whether the batch changed anything other than the counts.
    var changedRows: Bool { inserted + updated + superseded + retracted + rejected > 0 }

    func pass(_ limit: RejectLimit) -> Bool {
        limit.allows(rejected: rejected - unnamed, of: seen - unnamed + stated)
    }

    var areAllNew: Bool { inserted > 0 && inserted + rejected == seen }

    var areMostlyUnchanged: Bool { 2 * unchanged >= seen }

    static func += (left: inout ImportCounts, right: ImportCounts) {
        for (_, count) in named { left[keyPath: count] += right[keyPath: count] }
        left.unreadable += right.unreadable
        left.unnamed += right.unnamed
        left.stated += right.stated
        left.isAhead = left.isAhead || right.isAhead
        left.isUnsettled = left.isUnsettled || right.isUnsettled
        left.brake = right.brake ?? left.brake
        if let added = right.history {
            let before = left.history ?? added
            left.history =
                min(before.lowerBound, added.lowerBound)...max(before.upperBound, added.upperBound)
        }
    }
}

final class RunningCounts: Sendable {
    private let state = Mutex((sum: ImportCounts(), latest: ImportCounts()))

    var counts: ImportCounts { state.withLock { $0.sum } }
    /// The counts of the batch that was committed last.
    var latest: ImportCounts { state.withLock { $0.latest } }

    func add(_ counts: ImportCounts) {
        state.withLock {
            $0.sum += counts
            $0.latest = counts
        }
    }
}
