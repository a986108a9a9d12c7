/// A document shows so many events to be gone that the feed is more likely to be broken. The document's upserts stay.
public struct BrakeHeld: Error, Equatable, CustomStringConvertible {
    /// Such as `all_day`.
    public let feed: String
    /// How many events of the window the document lacks, or says to be deleted.
    public let missing: Int
    /// How many events it shows under another code.
    public let renamed: Int
    /// How many events the window has; 0 for a feed that has only some.
    public let inWindow: Int

    public var description: String {
        let gone = [
            missing == 0
                ? nil
                : inWindow == 0
                    ? "says that \(missing) events were deleted"
                    : "lacks \(missing) of the \(inWindow) events in its window",
            renamed > 0 ? "shows \(renamed) events as renamed" : nil,
        ].compactMap(\.self).joined(separator: " and ")
        return
            "\(feed) \(gone), too many to be plausible; nothing was deleted; check the feed, and if it is right, import it with --retract force"
    }
}
