import Feed
import PostgreSQL

/// Deletes what a complete document shows to be renamed or withdrawn, in the transaction of its last batch.
struct Settlement {
    let identity: FeedIdentity
    let retraction: Importer.Retraction
    let rejectLimit: RejectLimit

    /// Settles, unless the document is too bad to be believed. Of an event whose id can't be read nobody knows which it is.
    ///
    /// - Parameters:
    ///   - counts: those of the last batch.
    ///   - before: those of the batches before it.
    func settle(
        _ counts: inout ImportCounts, before: ImportCounts, isDryRun: Bool, on connection: Connection
    ) async throws {
        var document = before
        document += counts
        guard document.unreadable == 0,
            rejectLimit.allows(rejected: document.rejected, of: document.seen)
        else { return }
        let generated = identity.generated.milliseconds
        let row = try await connection.query(
            """
            select superseded, retracted, in_window, would_retract, is_braked
            from import.settle(\(identity.service), \(identity.name), to_timestamp(\(generated) / 1000.0),
                               to_timestamp(\(identity.window?.lowerBound.milliseconds) / 1000.0),
                               to_timestamp(\(identity.window?.upperBound.milliseconds) / 1000.0),
                               \(retraction == .force), \(isDryRun))
            """, to: "settle \(identity.name)")[0]
        counts.superseded = try row.decode("superseded")
        counts.retracted = try row.decode("retracted")
        if try row.decode("is_braked") {
            counts.brake = BrakeHeld(
                feed: identity.name, missing: try row.decode("would_retract"),
                inWindow: try row.decode("in_window"))
        }
    }
}

/// A document lacks so many events that the feed is more likely broken than the events gone. The upserts of the document
/// stay.
public struct BrakeHeld: Error, Equatable, CustomStringConvertible {
    /// Such as `all_day`.
    public let feed: String
    /// How many events of the window the document lacks.
    public let missing: Int
    /// How many there are.
    public let inWindow: Int

    public init(feed: String, missing: Int, inWindow: Int) {
        (self.feed, self.missing, self.inWindow) = (feed, missing, inWindow)
    }

    public var description: String {
        "\(feed) lacks \(missing) of the \(inWindow) events of its window, too many to be believed: nothing was deleted; look at the feed, and if it is right: --retract force"
    }
}
