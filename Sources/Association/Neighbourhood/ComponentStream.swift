/// Takes rows in the order of their times and returns the components that are complete, so that a table of any size is grouped in
/// the memory of what is open.
///
/// **A component stays open** until five minutes of origin time have passed since its last row, or, if a person said that one of its
/// rows is the same as a row that has not come yet, until that row comes or the stream ends. In a dense sequence a component may span
/// hours.
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

    /// Adds a row whose time is not before that of any added one.
    ///
    /// - Returns: the components that no later row can belong to.
    public mutating func add(_ row: Solution) -> [[Solution]] {
        let closed = links.closed(before: row.time.minus(Parameters.reach))
        links.add(row, isPast: false)
        return closed.map(\.rows)
    }

    /// The rest.
    public mutating func finish() -> [[Solution]] {
        links.all().map(\.rows)
    }

    /// The codes of overrides that no row had, in order.
    public var missing: [String] { links.missing }
}
