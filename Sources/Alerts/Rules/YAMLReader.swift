import Feed
import Yams

/// Reads YAML without its implicit types: every scalar is the text as written, and the caller decides what the text means. So
/// `no` is a word and not a boolean, and `22:00` is not a number. Anchors and aliases are refused.
///
/// The reader collects problems and continues, so that people see all problems at once.
struct YAMLReader {
    private(set) var problems: [Problem] = []

    struct Problem {
        /// The line, counted from 1; nil for a problem of the whole file.
        let line: Int?
        /// The column in characters, counted from 1.
        let column: Int?
        let text: String

        func text(in file: String) -> String {
            let place = [file, line.map { "\($0)" }, column.map { "\($0)" }].compactMap(\.self)
            return "\(place.joined(separator: ":")): \(text)"
        }
    }

    /// The maximum size of a file in bytes. A file with hundreds of rules has a few dozen kilobytes.
    static let sizeLimit = 1 << 20

    /// The root node of the document. If the document is not valid, notes the problem and returns nil.
    mutating func root(_ bytes: [UInt8]) -> Node? {
        guard bytes.count <= Self.sizeLimit else {
            note(nil, "the file has more than \(Self.sizeLimit >> 20) MiB")
            return nil
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let line = Self.firstInvalidLine(bytes)
            problems.append(.init(line: line, column: 1, text: "the line is not UTF-8"))
            return nil
        }
        do {
            // The nodes hold their anchors weakly, so the anchors live only as long as the parser.
            let yaml = String(text.trimmingPrefix("\u{FEFF}"))  // a byte order mark
            let parser = try Parser(yaml: yaml, resolver: .basic, encoding: .utf8)
            return try withExtendedLifetime(parser) {
                let node = try parser.singleRoot()
                if let anchored = node.flatMap(Self.firstAnchored) {
                    note(anchored.mark, "anchors and aliases are not supported; write the value out")
                    return nil
                }
                if node == nil { note(nil, "the file is empty") }
                return node
            }
        } catch {
            note(error, text)
            return nil
        }
    }

    mutating func note(_ mark: Mark?, _ text: String) {
        problems.append(.init(line: mark?.line, column: mark?.column, text: text))
    }

    // MARK: Values

    /// The entries of a mapping, in the file's order. Notes each key that is not in `known` as a problem, with the closest known
    /// key.
    mutating func entries(_ node: Node, of what: String, known: [String]? = nil) -> [Entry] {
        guard case .mapping(let mapping) = node else {
            note(node.mark, "\(what) must consist of keys with values")
            return []
        }
        var entries: [Entry] = []
        for (key, value) in mapping {
            guard case .scalar(let scalar) = key else {
                note(key.mark, "a key must be a word")
                continue
            }
            if let known, !known.contains(scalar.string) {
                note(key.mark, "unknown key \(quoted(scalar.string)) of \(what)\(hint(scalar.string, known))")
            } else if scalar.string.isEmpty {
                note(key.mark, "a key is empty")
            } else if entries.contains(where: { $0.key == scalar.string }) {
                // The parser compares keys together with their tags, such as `!!str`.
                note(key.mark, "the key \(quoted(scalar.string)) occurs twice")
            } else {
                entries.append(Entry(key: scalar.string, mark: key.mark, value: value))
            }
        }
        return entries
    }

    struct Entry {
        let key: String
        let mark: Mark?
        let value: Node
    }

    /// The scalar's text. An empty text is noted as a problem.
    mutating func text(_ node: Node, _ what: String) -> String? {
        guard case .scalar(let scalar) = node else {
            note(node.mark, "\(what) must be a single value")
            return nil
        }
        guard !scalar.string.isEmpty, scalar.string != "~" else {
            note(node.mark, "\(what) is empty")
            return nil
        }
        return scalar.string
    }

    /// The elements of a list; a single value counts as a list of one.
    mutating func list(_ node: Node, _ what: String) -> [Node] {
        guard case .sequence(let sequence) = node else { return [node] }
        if sequence.isEmpty { note(node.mark, "\(what) is an empty list") }
        return Array(sequence)
    }

    // MARK: Problems

    /// A suggestion for an unknown word, such as `; did you mean "magnitude"?`. If no known word is similar, the result lists the
    /// known words, or is empty if there are many.
    func hint(_ word: String, _ known: some Collection<String>) -> String {
        if let closest = closestSpelling(of: word, among: Array(known)) {
            return "; did you mean \(quoted(closest))?"
        }
        return known.isEmpty || known.count > 12 ? "" : "; known: \(known.joined(separator: ", "))"
    }

    private mutating func note(_ error: any Error, _ yaml: String) {
        guard let error = error as? YamlError else { return note(nil, "the file can't be read as YAML") }
        switch error {
        // The errors' descriptions are not used, because they quote the line, which may contain a secret.
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            let line = yaml.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(mark.line - 1)
                .first
            let hasTab = line?.prefix { $0 == " " || $0 == "\t" }.contains("\t") ?? false
            note(mark, hasTab ? "YAML lines are indented with spaces, not tabs" : "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            note(context.mark, "the key \(duplicates.map(quoted).joined(separator: ", ")) occurs twice")
        case .reader(let problem, _, _, _): note(nil, "not YAML: \(problem)")
        default: note(nil, "the file can't be read as YAML")
        }
    }

    private static func firstAnchored(in node: Node) -> Node? {
        // An alias comes after its anchor, so the search finds the anchor first and never follows an alias.
        if node.anchor != nil { return node }
        switch node {
        case .sequence(let nodes): return nodes.lazy.compactMap(firstAnchored).first
        case .mapping(let pairs):
            return pairs.lazy.compactMap { firstAnchored(in: $0.key) ?? firstAnchored(in: $0.value) }.first
        default: return nil
        }
    }

    private static func firstInvalidLine(_ bytes: [UInt8]) -> Int {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return (lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0) + 1
    }
}

/// Quotes a value for a problem's text: at most 60 characters, without control characters.
func quoted(_ text: String) -> String {
    let visible = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
    return "\"\(String(String.UnicodeScalarView(visible)).prefix(60))\""
}
