/// A source would delete or revert so many events that the source itself is probably broken. No event was deleted or reverted;
/// the source's other events were imported.
public struct BrakeHeld: Error, Equatable, CustomStringConvertible {
    /// The name of the feed, such as `all_day`.
    public let feed: String
    /// How many events the source lacks, or reports as deleted.
    public var missing = 0
    /// How many events the source shows under another code.
    public var renamed = 0
    /// How many events the source has in an earlier version than the table.
    public var reverted = 0
    /// The number of events with which `missing`, `renamed` and `reverted` are compared; 0 if the source lists only some events.
    public let total: Int
    public var place = "in its window"

    public var description: String {
        let all = "of the \(total) events \(place)"
        let gone = [
            missing == 0
                ? nil
                : total == 0 ? "says that \(missing) events were deleted" : "lacks \(missing) \(all)",
            renamed > 0 ? "shows \(renamed) events as renamed" : nil,
            reverted > 0 ? "has earlier versions of \(reverted) \(all)" : nil,
        ].compactMap(\.self).joined(separator: " and ")
        return
            "\(feed) \(gone), too many to be plausible; \(reverted > 0 ? "none was replaced" : "nothing was deleted"); check the feed, and if it is right, run the command once with --retract force"
    }
}
