import Feed

/// Takes rows in the order of their times, and returns components as soon as they are complete. Only open components are in
/// memory, so a table of any size can be grouped.
///
/// **A component stays open** until a row is added that is more than five minutes later than the component's last row. If an
/// override links one of its rows to a row that has not been added yet, the component stays open until that row is added or the
/// stream ends. In a dense sequence, a component may span hours.
///
///     var stream = ComponentStream(association)
///     for row in rows {
///         for component in stream.add(row) { write(association.group(component)) }
///     }
///     for component in stream.finish() { write(association.group(component)) }
public struct ComponentStream {
    private var links: LinkedRows

    public init(_ association: Association) {
        links = LinkedRows(association)
    }

    /// Adds a row, which must not be earlier than the previous one.
    ///
    /// - Returns: the components that are complete: no later row can belong to them.
    public mutating func add(_ row: Solution) -> [[Solution]] {
        let closed = links.closed(before: row.time.minus(Parameters.reach))
        links.add(row, isPast: false)
        return closed.map(\.rows)
    }

    /// Returns the components that are still open.
    public mutating func finish() -> [[Solution]] {
        links.all().map(\.rows)
    }

    /// The codes in overrides that none of the rows had, in ascending order.
    public var missing: [ExactText] { links.missing }
}
