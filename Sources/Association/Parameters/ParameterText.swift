// The format of parameters files: each line has a word and its values; `#` starts a comment.

import Feed

extension Parameters {
    /// Reads a parameters file. Parameters that are not in the file have their shipped values. This applies to the ranks as a
    /// whole, to the authors as a whole, and to the scatter of all other agencies (`*`).
    ///
    /// - Throws: `Failure` if a line cannot be read.
    public init(text: String) throws {
        try self.init(onlyText: text)
        if ranks.isEmpty { ranks = Self.shipped.ranks }
        if authors.isEmpty { authors = Self.shipped.authors }
        if scatter.rows["*"] == nil { scatter.rows["*"] = Self.shipped.scatter.rows["*"] }
    }

    /// Reads a parameters file without adding the shipped ranks, authors and scatter.
    init(onlyText text: String) throws {
        self.init(version: "")
        var number = 0
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            number += 1
            let words = Self.words(of: line)
            guard let word = words.first else { continue }
            try read(word, Array(words.dropFirst()), line: number)
        }
        guard !version.isEmpty else { throw Self.failure(line: number, "no version is given") }
        for name in scatter.rows.keys { scatter.rows[name]?.sort { $0.magnitude < $1.magnitude } }
    }

    private static func words(of line: Substring) -> [String] {
        line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace).map(String.init)
    }

    /// Whether a parameters file can have a line for the agency with this name. `*` stands for all others, so it is not a name.
    static func isName(_ name: String) -> Bool {
        name != "*" && words(of: " \(name) ") == [name]
    }

    private static func failure(line: Int, _ reason: String) -> Failure {
        Failure(.badData, "parameters, line \(line): \(reason)")
    }

    private mutating func read(_ word: String, _ values: [String], line: Int) throws {
        func one(_ range: ClosedRange<Double>) throws -> Double {
            guard values.count == 1, let number = Double(values[0]), range.contains(number) else {
                throw Self.failure(
                    line: line, "\(word) takes a number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
        switch word {
        case "version":
            guard values.count == 1 else { throw Self.failure(line: line, "version takes one word") }
            version = values[0]
        case "seconds": seconds = try one(0.001...120)
        case "km": kilometres = try one(0.001...1000)
        case "magnitudes": magnitudes = try one(0.001...24)
        case "cost": cost = try one(0.001...1000)
        case "impossible": impossible = try one(1...100)
        case "doubtful": doubtful = try one(1...100)
        case "depth-speed": depthSpeed = try one(1...100)
        case "depth-seconds": depthSeconds = try one(0...120)
        case "fixed-depths":
            let numbers = values.compactMap(Double.init)
            guard numbers.count == values.count else {
                throw Self.failure(line: line, "fixed-depths takes numbers")
            }
            fixedDepths = numbers
        case "rank":
            for name in values where ranks[name] == nil { ranks[name] = ranks.count }
        case "author":
            guard values.count == 2 else {
                throw Self.failure(line: line, "author takes a name and a network")
            }
            authors[values[0].lowercased()] = values[1]
        case "scatter": try readScatter(values, line: line)
        default: throw Self.failure(line: line, "\(word) is not a parameter")
        }
    }

    private mutating func readScatter(_ values: [String], line: Int) throws {
        let numbers = values.dropFirst().map { $0 == "-" ? -.infinity : Double($0) ?? .nan }
        guard numbers.count == 5, !numbers[0].isNaN, numbers[1...3].allSatisfy({ $0 >= 0 && $0 < 10_000 }),
            let pairs = Int(values[5])
        else {
            throw Self.failure(
                line: line,
                "scatter takes an agency, a magnitude or -, seconds, kilometres, magnitudes and the number of pairs"
            )
        }
        let scatter = Scatter(seconds: numbers[1], kilometres: numbers[2], magnitudes: numbers[3])
        self.scatter.rows[values[0], default: []].append(
            ScatterTable.Row(magnitude: numbers[0], scatter: scatter, pairs: pairs))
    }
}

extension ScatterTable: CustomStringConvertible {
    /// The table as lines of a parameters file, sorted by agency. The line for all other agencies (`*`) comes first.
    public var description: String {
        rows.sorted { $0.key < $1.key }.flatMap { name, rows in
            rows.map { row in
                let from = row.magnitude == -.infinity ? "-" : "\(row.magnitude)"
                let numbers = [row.scatter.seconds, row.scatter.kilometres, row.scatter.magnitudes]
                let texts = [from] + numbers.map { "\(($0 * 1000).rounded() / 1000)" } + ["\(row.pairs)"]
                return "scatter \(name.padded(to: 8))" + texts.map { " " + $0.padded(to: 8) }.joined().trimmed
            }
        }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    fileprivate var trimmed: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
