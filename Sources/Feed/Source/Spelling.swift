/// The word that was probably meant: the closest of `words`, if it is close enough.
///
/// The distance is the least number of letters to insert, remove, replace or swap with their neighbour (Damerau 1964). It may be
/// at most two, and at most a third of the letters. Upper and lower case are not distinguished.
public func closestSpelling(of word: String, among words: some Sequence<String?>) -> String? {
    let letters = Array(word.lowercased())
    let limit = min(2, letters.count / 3)
    var best: (word: String, distance: Int)?
    for case let other? in words {
        let candidate = Array(other.lowercased())
        // The distance is at least the difference of the lengths. So a word of thousands of letters is not compared at all.
        guard abs(candidate.count - letters.count) <= limit else { continue }
        let distance = editDistance(letters, candidate)
        if distance <= limit, distance < best?.distance ?? .max { best = (other, distance) }
    }
    return best?.word
}

/// The optimal string alignment distance: no part of a text is edited twice.
private func editDistance(_ one: [Character], _ other: [Character]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for (row, letter) in one.enumerated() {
        var this = [row + 1]
        for (column, candidate) in other.enumerated() {
            var distance = min(
                last[column] + (letter == candidate ? 0 : 1), last[column + 1] + 1, this[column] + 1)
            if row > 0, column > 0, letter == other[column - 1], one[row - 1] == candidate {
                distance = min(distance, before[column - 1] + 1)
            }
            this.append(distance)
        }
        (before, last) = (last, this)
    }
    return last[other.count]
}
