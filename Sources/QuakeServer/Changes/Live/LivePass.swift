import Feed
import QuakeStore
import Synchronization

/// One pass of the process's follower, kept for all clients: the lines of its changes, and the changes that each filter selects.
final class LivePass: Sendable {
    let number: Int
    let start: Position
    let end: Position
    let madeAt = ContinuousClock.now
    let lines: ChangeLines
    /// The events that filters are applied to; nil if no client had a filter when the pass was read.
    private let quakes: ChangedQuakes?
    private let state = Mutex(State())

    private struct State {
        /// The changes that each filter selects, by the filter's key.
        var selected: [ExactText: Selected] = [:]
        /// For each address, the number of filters that this address was the first to request.
        var counts: [ClientAddress: Int] = [:]
        var size = 0
    }

    /// The approximate size of an entry in `selected`, in bytes. The entry's key and its bits are not included.
    private static let entrySize = 128

    enum Selected: Sendable {
        /// The filter is being applied.
        case soon
        case known(SelectedChanges)
        /// The filter cannot be applied: the pass was kept without events for filters, or the address asks for too many filters.
        /// The client has to read the changes from the history.
        case never
    }

    init(
        _ number: Int, _ lines: ChangeLines, _ quakes: ChangedQuakes?, from start: Position, to end: Position
    ) {
        (self.number, self.lines, self.quakes, self.start, self.end) = (number, lines, quakes, start, end)
    }

    var size: Int { lines.bytes.count + (quakes?.size ?? 0) + state.withLock { $0.size } }

    /// The changes of this pass that a filter selects.
    ///
    /// - Parameters:
    ///   - rateLimitKey: the address that requests the filter; nil for clients without limits per address.
    ///   - limit: the greatest number of filters that are applied for one address.
    ///   - apply: called if the filter is new to this pass. It must only schedule `apply(_:)` on another thread, because applying
    ///     the filter may take long.
    func selected(
        by filter: ChangeFilter, for rateLimitKey: ClientAddress?, limit: Int, _ apply: () -> Void
    ) -> Selected {
        guard quakes != nil else { return .never }
        let (selected, isNew) = state.withLock { state -> (Selected, Bool) in
            if let known = state.selected[filter.key] { return (known, false) }
            if let rateLimitKey {
                guard state.counts[rateLimitKey, default: 0] < limit else { return (.never, false) }
                state.counts[rateLimitKey, default: 0] += 1
            }
            state.selected[filter.key] = .soon
            state.size += Self.entrySize + filter.key.text.utf8.count
            return (.soon, true)
        }
        if isNew { apply() }
        return selected
    }

    /// Applies a filter. This may take long, so never call it on an event loop.
    func apply(_ filter: ChangeFilter) {
        guard let selected = quakes?.selected(by: filter.selection) else { return }
        state.withLock { state in
            state.selected[filter.key] = .known(selected)
            state.size += selected.size
        }
    }

    /// Writes a part of the pass: whole lines, about 32 KiB in total.
    ///
    /// - Parameters:
    ///   - selected: the changes that the form's filter selects; nil for a form without a filter.
    ///   - line: the first line to write.
    /// - Returns: the bytes, and the line with which the next part begins. The line is nil for the last part, which ends with the
    ///   pass's position.
    func written(_ form: StreamForm, _ selected: SelectedChanges?, from line: Int) -> (
        bytes: [UInt8], next: Int?
    ) {
        var bytes: [UInt8] = []
        var line = line
        while let next = selected.map({ $0.next(from: line) }) ?? (line < lines.count ? line : nil) {
            guard bytes.count < 32 << 10 else { return (bytes, next) }
            form.append(.change, lines[next], selected: selected?.isSelected(next), to: &bytes)
            line = next + 1
        }
        form.append(end, to: &bytes)
        return (bytes, nil)
    }
}

/// Changes as lines of JSON, in token order.
struct ChangeLines: Sendable {
    private(set) var bytes: [UInt8] = []
    private var ends: [(token: Int, end: Int)] = []

    var count: Int { ends.count }

    /// - Parameter line: a change in JSON. It begins with the token, as all lines of a pass do.
    mutating func append(_ line: UnsafeRawBufferPointer) {
        let digits = line.dropFirst(#"{"token":"#.utf8.count).prefix { $0 != UInt8(ascii: ",") }
        bytes.append(contentsOf: line)
        ends.append((digits.reduce(0) { $0 * 10 + Int($1 & 15) }, bytes.count))
    }

    subscript(index: Int) -> ArraySlice<UInt8> {
        bytes[(index == 0 ? 0 : ends[index - 1].end)..<ends[index].end]
    }

    func first(after token: Int) -> Int {
        var (low, high) = (0, ends.count)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle].token > token { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
