extension [UInt8] {
    /// Sets the author and the context of a change to null. The change is a line of JSON from PostgreSQL, with its members in
    /// this order: `{"token":8,"committed_at":"…","author":"…","context":"…",…}`. Any other line stays unchanged.
    ///
    /// - Parameter start: the index where the line begins. The line ends with the array.
    mutating func hideAuthor(from start: Int) {
        guard self[start...].starts(with: #"{"token":"#.utf8) else { return }
        let (author, context) = (Array(#","author":"#.utf8), Array(#","context":"#.utf8))
        // Only a number and a time precede the author, so the first match is the member `author`, not a part of a text.
        guard let begin = self[start...].indices.first(where: { self[$0...].starts(with: author) }) else {
            return
        }
        let names = begin + author.count
        let middle = endOfValue(from: names)
        guard self[middle...].starts(with: context) else { return }
        let end = endOfValue(from: middle + context.count)
        replaceSubrange(names..<end, with: #"null,"context":null"#.utf8)
    }

    /// The index after the JSON string or word that begins at `start`.
    private func endOfValue(from start: Int) -> Int {
        guard start < count, self[start] == UInt8(ascii: "\"") else {
            return self[start...].firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "}") } ?? count
        }
        var index = start + 1
        while index < count, self[index] != UInt8(ascii: "\"") {
            index += self[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return Swift.min(index + 1, count)
    }
}
