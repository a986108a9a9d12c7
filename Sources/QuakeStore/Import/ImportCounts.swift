import Synchronization

/// What an import did. `seen` is always the sum of inserted, updated, unchanged, stale and rejected.
public struct ImportCounts: Sendable, Equatable {
    public var seen = 0
    public var inserted = 0
    /// Events whose row was changed.
    public var updated = 0
    /// Features that equal the table's row.
    public var unchanged = 0
    /// Features that are older than the row, or another feature of the document, with the same code.
    public var stale = 0
    /// Features that could not be imported, kept in `import.reject`.
    public var rejected = 0
    /// Events that were deleted because the document shows them under another code.
    public var superseded = 0
    /// Events that were deleted because the document no longer has them.
    public var retracted = 0
    /// Size of the document after inflation, in bytes.
    public var bytes = 0
    /// Rejected events whose id can't be read.
    var unreadable = 0
    /// Deletions without an id. They are rejected, but not a fault of the answer: nearly half of the USGS's are like that.
    var unnamed = 0
    /// Whether the document says that it was generated in the future.
    var isAhead = false
    /// It could have been settled.
    var isUnsettled = false
    /// Why nothing was deleted; nil when the brake did not hold.
    var brake: BrakeHeld?

    /// The first and the last transaction in `history.transaction`; nil when nothing changed.
    var history: ClosedRange<Int>?

    public init() {}

    /// The counts that are recorded and shown, by their names there.
    public static let named: [(name: String, count: WritableKeyPath<ImportCounts, Int> & Sendable)] = [
        ("seen", \Self.seen), ("inserted", \Self.inserted), ("updated", \Self.updated),
        ("unchanged", \Self.unchanged), ("stale", \Self.stale), ("superseded", \Self.superseded),
        ("retracted", \Self.retracted), ("rejected", \Self.rejected), ("bytes", \Self.bytes),
    ]

    /// Whether the batch changed anything other than the counts.
    var changedRows: Bool { inserted + updated + superseded + retracted + rejected > 0 }

    func pass(_ limit: RejectLimit) -> Bool {
        limit.allows(rejected: rejected - unnamed, of: seen - unnamed)
    }

    var areAllNew: Bool { inserted > 0 && inserted + rejected == seen }

    var areMostlyUnchanged: Bool { 2 * unchanged >= seen }

    static func += (left: inout ImportCounts, right: ImportCounts) {
        for (_, count) in named { left[keyPath: count] += right[keyPath: count] }
        left.unreadable += right.unreadable
        left.unnamed += right.unnamed
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
    /// Those of the last batch.
    var latest: ImportCounts { state.withLock { $0.latest } }

    func add(_ counts: ImportCounts) {
        state.withLock {
            $0.sum += counts
            $0.latest = counts
        }
    }
}
