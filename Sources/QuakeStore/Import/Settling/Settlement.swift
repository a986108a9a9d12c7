import Feed
import PostgreSQL

/// Deletes events that a complete document shows to be renamed or withdrawn, in the transaction of its last batch.
struct Settlement {
    let identity: FeedIdentity
    let retraction: Importer.Retraction
    let rejectLimit: RejectLimit

    /// Settles, unless too many features were rejected, or the id of one can't be read: that feature could be any
    /// event.
    ///
    /// - Parameters:
    ///   - counts: the counts of the last batch.
    ///   - before: the counts of the earlier batches.
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
            select superseded, retracted, in_window, would_supersede, would_retract, is_braked, is_ahead
            from import.settle(\(identity.service), \(identity.name), to_timestamp(\(generated) / 1000.0),
                               to_timestamp(\(identity.window?.lowerBound.milliseconds) / 1000.0),
                               to_timestamp(\(identity.window?.upperBound.milliseconds) / 1000.0),
                               \(retraction == .force), \(isDryRun))
            """, to: "settle \(identity.name)")[0]
        counts.superseded += try row.decode("superseded", as: Int.self)
        counts.retracted += try row.decode("retracted", as: Int.self)
        if try row.decode("is_ahead") { counts.isAhead = true }
        if try row.decode("is_braked") {
            counts.brake = BrakeHeld(
                feed: identity.name, missing: try row.decode("would_retract"),
                renamed: try row.decode("would_supersede"), inWindow: try row.decode("in_window"))
        }
    }
}

/// A document shows so many events to be gone that the feed is more likely to be broken. The document's upserts stay.
public struct BrakeHeld: Error, Equatable, CustomStringConvertible {
    /// Such as `all_day`.
    public let feed: String
    /// How many events of the window the document lacks.
    public let missing: Int
    /// How many events it shows under another code.
    public let renamed: Int
    /// How many events the window has; 0 for a feed that has only some.
    public let inWindow: Int

    public init(feed: String, missing: Int, renamed: Int = 0, inWindow: Int) {
        (self.feed, self.missing, self.renamed, self.inWindow) = (feed, missing, renamed, inWindow)
    }

    public var description: String {
        let gone = [
            missing > 0 ? "lacks \(missing) of the \(inWindow) events in its window" : nil,
            renamed > 0 ? "shows \(renamed) events as renamed" : nil,
        ].compactMap(\.self).joined(separator: " and ")
        return
            "\(feed) \(gone), too many to be plausible; nothing was deleted; check the feed, and if it is right, import it with --retract force"
    }
}
