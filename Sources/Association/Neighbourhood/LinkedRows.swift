/// Rows in time order that are being put into components.
///
/// Besides rows, it takes past versions of rows: they link as they did, but belong to no component that comes out. This is how a
/// component is found that a row has left.
struct LinkedRows {
    struct Component {
        fileprivate(set) var rows: [Solution] = []
        /// The codes of the past versions in it.
        fileprivate(set) var past: [String] = []
        /// The overrides that wait for their other row.
        fileprivate var waits: [Int] = []
        fileprivate var size: Int { rows.count + past.count }
    }

    private struct Node {
        let code: String
        let located: Located
        let ids: [String]
    }

    private let association: Association
    private var agencies: [String: Int] = [:]
    private var index: BeltIndex
    /// Nodes by number, less `firstNumber`. Those before `oldest` are closed.
    private var nodes: [Node] = []
    private var firstNumber = 0
    private var oldest = 0
    /// For each node a later one of its component, or itself: following them leads to the latest.
    private var later: [Int] = []
    /// Components by their latest node. One whose nodes are closed, but which waits for a row, has a negative key.
    private var components: [Int: Component] = [:]
    /// The open nodes with a code: a row, and perhaps past versions.
    private var numbers: [String: [Int]] = [:]
    /// The open nodes that list an id.
    private var listing: [String: [Int]] = [:]
    /// For a code that has not come yet, the overrides that wait for it, by number, and the component that each belongs to.
    private var waiting: [String: [Int]] = [:]
    private var waiters: [Int: Int] = [:]
    private var lastWait = 0
    private var lastHeld = 0
    private var unseen: Set<String>

    init(_ association: Association) {
        self.association = association
        index = BeltIndex(reach: association.parameters.pairReach)
        unseen = association.overrides.codes
    }

    /// The codes of overrides that no row had.
    var missing: [String] { unseen.sorted { $0.precedes($1) } }

    /// - Parameter isPast: whether it is a past version of a row.
    mutating func add(_ row: Solution, isPast: Bool) {
        let number = firstNumber + nodes.count
        let located = Located(row, agency: agencies.number(of: row.agency), association.parameters)
        let ids = row.ids.count > 1 ? Array(Set(row.ids).subtracting([row.code])) : []
        nodes.append(Node(code: row.code, located: located, ids: ids))
        later.append(number)
        components[number] = isPast ? Component(past: [row.code]) : Component(rows: [row])
        linkPairs(number, located)
        linkIDs(number)
        linkOverrides(number, isPast: isPast)
        numbers[row.code, default: []].append(number)
    }

    private mutating func linkPairs(_ number: Int, _ located: Located) {
        let (nodes, first, comparison) = (nodes, firstNumber, association.comparison)
        var latest: [Int] = []
        var later: [Int] = []
        swap(&later, &self.later)
        index.add(
            number, time: located.time, belt: located.belt,
            component: { Self.leader(of: $0, &later, first) },
            { earlier, leader in
                if latest.contains(leader) { return true }
                let other = nodes[earlier - first].located
                guard other.agency != located.agency, comparison.cost(other, located) != nil else {
                    return false
                }
                latest.append(leader)
                return true
            })
        swap(&later, &self.later)
        for leader in latest { join(self.leader(of: number), leader) }
    }

    /// Links rows of which one lists the other.
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

    /// Joins the components with two keys, of which one is that of an open component.
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

    /// Takes out the components that end before a time.
    mutating func closed(before time: Int64) -> [Component] {
        var closed: [Component] = []
        while oldest < nodes.count, nodes[oldest].located.time < time {
            let number = firstNumber + oldest
            // The latest node of a component is the last one that is closed.
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

    private static func remove(_ number: Int, from table: inout [String: [Int]], at key: String) {
        guard let index = table.index(forKey: key) else { return }
        if table.values[index].count == 1 {
            table.remove(at: index)
        } else {
            table.values[index].removeAll { $0 == number }
        }
    }

    /// Takes out all.
    mutating func all() -> [Component] {
        defer {
            (nodes, later, oldest) = ([], [], 0)
            (numbers, listing, waiting, waiters, components) = ([:], [:], [:], [:], [:])
        }
        return Array(components.values)
    }
}
