import NIOCore

/// A queue that serves groups round-robin: a group with many elements delays the others no more than a group with one element.
struct FairQueue<Group: Hashable, Element> {
    private var elements: [Group: CircularBuffer<Element>] = [:]
    /// The groups that have elements, in the order of their next turns.
    private var groups = CircularBuffer<Group>()

    mutating func append(_ element: Element, of group: Group) {
        if elements[group] == nil { groups.append(group) }
        elements[group, default: CircularBuffer()].append(element)
    }

    mutating func popFirst() -> Element? {
        guard let group = groups.popFirst(), let element = elements[group]?.popFirst() else { return nil }
        if elements[group]?.isEmpty == false { groups.append(group) } else { elements[group] = nil }
        return element
    }

    func counts(where isCounted: (Element) -> Bool) -> [Group: Int] {
        elements.mapValues { $0.count(where: isCounted) }
    }

    mutating func removeLast(of only: Group? = nil, where isMeant: (Element) -> Bool) -> Element? {
        for group in only.map({ [$0] }) ?? Array(groups) {
            guard let index = elements[group]?.lastIndex(where: isMeant) else { continue }
            let element = elements[group]?.remove(at: index)
            if elements[group]?.isEmpty == true {
                elements[group] = nil
                groups.removeAll { $0 == group }
            }
            return element
        }
        return nil
    }

    mutating func removeAll() -> [Element] {
        defer { self = FairQueue() }
        return groups.flatMap { elements[$0] ?? [] }
    }
}
