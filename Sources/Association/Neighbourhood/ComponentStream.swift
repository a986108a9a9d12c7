import Feed

/// Takes rows in the order of their times, and returns components of linked rows as soon as they are complete. Only open
/// components are in memory, so a table of any size can be grouped.
///
/// **A component stays open** until a row is added that is more than five minutes later than the component's last row. If an
/// override links one of its rows to a row that has not been added yet, the component stays open until that row is added or the
/// stream ends. In a dense sequence, a component may span hours.
///
/// Past versions of rows can be added, too. A past version links rows as it did when it was current, but is not among the `rows`
/// of a component. So the component to which a row belonged before its change is found, too.
///
///     var stream = ComponentStream(association)
///     for row in rows {
///         for component in stream.add(row) { write(association.group(component.rows)) }
///     }
///     for component in stream.finish() { write(association.group(component.rows)) }
public struct ComponentStream {
    public struct Component {
        public fileprivate(set) var rows: [Solution] = []
        /// The codes of the component's past versions.
        fileprivate(set) var past: [ExactText] = []
        /// The numbers of the overrides that wait for their second row.
        fileprivate var waits: [Int] = []
        fileprivate var size: Int { rows.count + past.count }
    }

    private struct Node {
        let row: Solution
        let located: Located
        let ids: [ExactText]

        var code: ExactText { row.code }
    }

    private let association: Association
    private var agencies: [String: Int] = [:]
    private var index: BeltIndex
    /// The node with number n is at the index n − `firstNumber`. Nodes before the index `oldest` are closed.
    private var nodes: [Node] = []
    private var firstNumber = 0
    private var oldest = 0
    /// For each node, the number of a later node of its component, or its own number. Following the numbers leads to the latest
    /// node.
    private var later: [Int] = []
    /// Components by the number of their latest node. A component that has only closed nodes, but still waits for a row, has a
    /// negative key.
    private var components: [Int: Component] = [:]
    /// The numbers of the open nodes by code: the row's node, and the nodes of its past versions.
    private var numbers: [ExactText: [Int]] = [:]
    /// The numbers of the open nodes, by each id that they list.
    private var listing: [ExactText: [Int]] = [:]
    /// For each code whose row has not been added yet, the numbers of the overrides that wait for it. `waiters` has the component
    /// of each override.
    private var waiting: [ExactText: [Int]] = [:]
    private var waiters: [Int: Int] = [:]
    private var lastWait = 0
    private var lastHeld = 0
    private var unseen: Set<ExactText>

    public init(_ association: Association) {
        self.association = association
        index = BeltIndex(reach: max(association.parameters.pairReach, CopiedSolution.reach))
        unseen = association.overrides.codes
    }

    /// The codes in overrides that none of the rows had, in ascending order.
    public var missing: [ExactText] { unseen.sorted() }

    /// Adds a row, which must not be earlier than the previous one.
    ///
    /// - Parameter isPast: whether `row` is a past version of a row.
    /// - Returns: the components that are complete: no later row can belong to them.
    public mutating func add(_ row: Solution, isPast: Bool = false) -> [Component] {
        let closed = closed(before: row.time.minus(Parameters.reach))
        let number = firstNumber + nodes.count
        let located = Located(row, agency: agencies.number(of: row.agency), association.parameters)
        let ids = row.ids.count > 1 ? Array(Set(row.ids).subtracting([row.code])) : []
        nodes.append(Node(row: row, located: located, ids: ids))
        later.append(number)
        components[number] = isPast ? Component(past: [row.code]) : Component(rows: [row])
        linkPairs(number)
        linkIDs(number)
        linkOverrides(number, isPast: isPast)
        numbers[row.code, default: []].append(number)
        return closed
    }

    /// Links candidate pairs, and copies of other agencies' solutions regardless of their cost.
    private mutating func linkPairs(_ number: Int) {
        let (nodes, first, association) = (nodes, firstNumber, association)
        let own = nodes[number - first]
        let located = own.located
        func isCopy(_ other: Node) -> Bool {
            located.time - other.located.time <= CopiedSolution.reach
                && CopiedSolution.links(own.row, other.row, association.parameters)
        }
        var latest: [Int] = []
        var later: [Int] = []
        swap(&later, &self.later)
        index.add(
            number, time: located.time, belt: located.belt,
            component: { Self.leader(of: $0, &later, first) },
            { earlier, leader in
                if latest.contains(leader) { return true }
                let other = nodes[earlier - first]
                guard other.located.agency != located.agency,
                    association.comparison.cost(other.located, located) != nil || isCopy(other)
                else { return false }
                latest.append(leader)
                return true
            })
        swap(&later, &self.later)
        for leader in latest { join(self.leader(of: number), leader) }
    }

    /// Links versions of the same row, and rows of the same agency if one of them lists the other's code.
    private mutating func linkIDs(_ number: Int) {
        let node = nodes[number - firstNumber]
        for earlier in numbers[node.code] ?? [] { joinNodes(number, earlier) }
        for earlier in listing[node.code] ?? [] where isOfSameAgency(number, earlier) {
            joinNodes(number, earlier)
        }
        for id in node.ids {
            for earlier in numbers[id] ?? [] where isOfSameAgency(number, earlier) {
                joinNodes(number, earlier)
            }
            listing[id, default: []].append(number)
        }
    }

    private mutating func joinNodes(_ a: Int, _ b: Int) { join(leader(of: a), leader(of: b)) }

    private func isOfSameAgency(_ a: Int, _ b: Int) -> Bool {
        nodes[a - firstNumber].located.agency == nodes[b - firstNumber].located.agency
    }

    private mutating func linkOverrides(_ number: Int, isPast: Bool) {
        guard !association.overrides.codes.isEmpty else { return }
        let code = nodes[number - firstNumber].code
        for wait in waiting[code] ?? [] {
            if let waiter = waiters[wait] { join(leader(of: number), waiter) }
            if !isPast {
                waiters[wait] = nil
                components[leader(of: number)]?.waits.removeAll { $0 == wait }
            }
        }
        if !isPast {
            waiting[code] = nil
            unseen.remove(code)
        }
        for other in association.overrides.same[code] ?? [] where unseen.contains(other) {
            lastWait += 1
            let component = leader(of: number)
            components[component]?.waits.append(lastWait)
            waiters[lastWait] = component
            waiting[other, default: []].append(lastWait)
        }
    }

    // MARK: Components

    private mutating func leader(of number: Int) -> Int {
        Self.leader(of: number, &later, firstNumber)
    }

    @inline(__always)
    private static func leader(of number: Int, _ later: inout [Int], _ first: Int) -> Int {
        var number = number
        while later[number - first] != number {
            later[number - first] = later[later[number - first] - first]
            number = later[number - first]
        }
        return number
    }

    /// Joins the components with these two keys. At least one of the components is open.
    private mutating func join(_ a: Int, _ b: Int) {
        guard a != b, var large = components.removeValue(forKey: a),
            var small = components.removeValue(forKey: b)
        else { return }
        if large.size < small.size { swap(&large, &small) }
        large.rows += small.rows
        large.past += small.past
        large.waits += small.waits
        let (latest, other) = (max(a, b), min(a, b))
        for wait in large.waits { waiters[wait] = latest }
        components[latest] = large
        if other >= 0 { later[other - firstNumber] = latest }
    }

    /// Removes and returns the components whose latest row is before `time`. Components that still wait for a row are kept.
    private mutating func closed(before time: Int64) -> [Component] {
        var closed: [Component] = []
        while oldest < nodes.count, nodes[oldest].located.time < time {
            let number = firstNumber + oldest
            // When its latest node is closed, a component is complete, unless it still waits for a row.
            if later[oldest] == number, let component = components.removeValue(forKey: number) {
                if component.waits.isEmpty { closed.append(component) } else { hold(component) }
            }
            forget(nodes[oldest], number)
            oldest += 1
        }
        if oldest > 64, 2 * oldest > nodes.count {
            nodes.removeFirst(oldest)
            later.removeFirst(oldest)
            firstNumber += oldest
            oldest = 0
        }
        return closed
    }

    private mutating func hold(_ component: Component) {
        lastHeld -= 1
        components[lastHeld] = component
        for wait in component.waits { waiters[wait] = lastHeld }
    }

    private mutating func forget(_ node: Node, _ number: Int) {
        Self.remove(number, from: &numbers, at: node.code)
        for id in node.ids { Self.remove(number, from: &listing, at: id) }
    }

    private static func remove(_ number: Int, from table: inout [ExactText: [Int]], at key: ExactText) {
        guard let index = table.index(forKey: key) else { return }
        if table.values[index].count == 1 {
            table.remove(at: index)
        } else {
            table.values[index].removeAll { $0 == number }
        }
    }

    /// Removes and returns the components that are still open.
    public mutating func finish() -> [Component] {
        defer {
            (nodes, later, oldest) = ([], [], 0)
            (numbers, listing, waiting, waiters, components) = ([:], [:], [:], [:], [:])
        }
        return Array(components.values)
    }
}
