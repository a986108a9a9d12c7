/// Keeps the text of the event that is being read from an XML document, at most 64 KiB, in case the event is rejected.
struct EventExcerpt {
    /// The last block that the parser got, and the bytes before it that the parser had not processed by then.
    private var recent: [UInt8] = []
    /// The offset of `recent` in the parsed text, in bytes.
    private var start = 0

    private var eventStart: Int?
    private var kept: [UInt8] = []

    mutating func append(_ block: [UInt8]) {
        recent.append(contentsOf: block)
    }

    mutating func drop(upTo position: Int) {
        keep(upTo: position)
        let count = min(max(0, position - start), recent.count)
        recent.removeFirst(count)
        start += count
    }

    /// Begins an event while the parser is in its start tag. The tag begins at the last `<` before the position, because a tag
    /// contains no other `<`.
    mutating func begin(at position: Int) {
        var index = min(max(0, position - start), recent.count)
        while index > 0, recent[index - 1] != UInt8(ascii: "<") { index -= 1 }
        index = max(0, index - 1)
        // In UTF-16 with the high byte first, `<` is the second byte of its character.
        if index > 0, recent[index - 1] == 0, (start + index).isMultiple(of: 2) == false,
            index + 1 < recent.count, recent[index + 1] == 0
        {
            index -= 1
        }
        eventStart = start + index
        kept.removeAll(keepingCapacity: true)
    }

    /// Ends the event that the parser has just passed.
    ///
    /// - Returns: the event's range, and its first 64 KiB.
    mutating func end(at position: Int) -> (range: Range<Int>, bytes: [UInt8]) {
        keep(upTo: position)
        let begin = eventStart ?? position
        eventStart = nil
        return (begin..<max(begin, position), kept)
    }

    private mutating func keep(upTo position: Int) {
        guard let eventStart else { return }
        let from = eventStart + kept.count - start
        let to = min(position, eventStart + FeatureScanner.keptOfOversized) - start
        guard from < to, from >= 0, to <= recent.count else { return }
        kept.append(contentsOf: recent[from..<to])
    }
}
