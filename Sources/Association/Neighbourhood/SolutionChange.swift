/// A row as it was when the groups were last written, and as it is now.
public struct SolutionChange: Sendable {
    /// nil if the row did not exist.
    public var before: Solution?
    /// nil if the row was deleted.
    public var after: Solution?

    public init(before: Solution?, after: Solution?) {
        (self.before, self.after) = (before, after)
    }
}
