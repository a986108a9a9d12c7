import Feed

/// What an import did. `seen` is always the sum of inserted, updated, unchanged, stale and rejected.
public struct ImportCounts: Sendable, Equatable {
    /// Features of the document.
    public var seen = 0
    /// Events that were new.
    public var inserted = 0
    /// Events whose row was changed.
    public var updated = 0
    /// Features that said what the table already held.
    public var unchanged = 0
    /// Features older than the row, or than another feature of the document, with the same code.
    public var stale = 0
    /// Features that could not be imported, kept in `import.reject`.
    public var rejected = 0
    /// Events that were deleted because the document shows them under another code.
    public var superseded = 0
    /// Events that were deleted because the document no longer has them.
    public var retracted = 0
    /// Size of the document after inflation, in bytes.
    public var bytes = 0
    /// Rejected features whose id can't be read: which events they are is not known.
    var unreadable = 0
    /// Why nothing was deleted.
    var brake: BrakeHeld?

    /// The first and the last transaction in `history.transaction`; nil when nothing changed.
    var history: ClosedRange<Int>?

    public init() {}

    /// Whether anything but the counts has to be kept.
    var changedRows: Bool { inserted + updated + superseded + retracted + rejected > 0 }

    var areAllNew: Bool { inserted > 0 && inserted + rejected == seen }

    static func += (left: inout ImportCounts, right: ImportCounts) {
        left.seen += right.seen
        left.inserted += right.inserted
        left.updated += right.updated
        left.unchanged += right.unchanged
        left.stale += right.stale
        left.rejected += right.rejected
        left.superseded += right.superseded
        left.retracted += right.retracted
        left.unreadable += right.unreadable
        left.brake = right.brake ?? left.brake
        left.bytes += right.bytes
        if let added = right.history {
            let before = left.history ?? added
            left.history =
                min(before.lowerBound, added.lowerBound)...max(before.upperBound, added.upperBound)
        }
    }
}

/// One import from its beginning to its end. The counts are what was committed.
public struct ImportSummary: Sendable {
    public enum Outcome: String, Sendable {
        case done, failed, cancelled
        /// The server says that the feed is what was imported last.
        case notModified = "not_modified"
    }

    /// The run's number in `import.run`; nil for a dry run.
    public var run: Int?
    public var source: FeedSource
    /// Which feed the document says it is.
    public var feed: String?
    /// When it was made, by its own account.
    public var generated: Instant?
    /// How long its server promises no news.
    public var freshFor: Duration?
    public var outcome = Outcome.done
    public var counts = ImportCounts()
    /// History tokens of the run's first and last transaction that changed something.
    public var tokens: ClosedRange<Int>?
    public var duration = Duration.zero
    /// Why the outcome is not `done`.
    public var failure: (any Error)?
}

/// How many features may be rejected before a document counts as bad.
public enum RejectLimit: Sendable, Equatable {
    /// The greater of 10 and 1 % of the document's features.
    case standard
    case count(Int)
    /// Of the document's features.
    case percent(Double)

    /// Whether a document passes. One whose features were all rejected never does.
    public func allows(rejected: Int, of seen: Int) -> Bool {
        if rejected == 0 { return true }
        if rejected == seen { return false }
        return switch self {
        case .standard: rejected <= max(10, seen / 100)
        case .count(let limit): rejected <= limit
        case .percent(let limit): Double(rejected) <= limit / 100 * Double(seen)
        }
    }
}

/// Why a run failed although its document could be read and its good features were imported.
public struct TooManyRejects: Error, Equatable, CustomStringConvertible {
    public let rejected: Int
    public let seen: Int

    public init(rejected: Int, seen: Int) {
        self.rejected = rejected
        self.seen = seen
    }

    public var description: String {
        "\(rejected) of \(seen) features were rejected, more than allowed; the others were imported; see import.reject"
    }
}

/// Another process imports the same source.
public struct SourceBusy: Error, Equatable, CustomStringConvertible {
    public let source: FeedSource

    public init(source: FeedSource) {
        self.source = source
    }

    public var description: String { "another run is importing \(source)" }
}
