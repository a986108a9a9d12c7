/// One row of a result, decoded by column name.
public struct Row: Sendable {
    let columns: Columns
    let cells: [String?]

    /// The value of a column that may not be null.
    ///
    /// - Throws: `RowError` when there is no such column, or its value is null or not of the requested type.
    public func decode<Value: RowDecodable>(_ column: String, as type: Value.Type = Value.self) throws
        -> Value
    {
        guard let value = try decodeIfPresent(column, as: type) else {
            throw RowError(column: column, problem: "is null")
        }
        return value
    }

    /// The value of a column; nil when it is null.
    ///
    /// - Throws: `RowError` when there is no such column, or its value is not of the requested type.
    public func decodeIfPresent<Value: RowDecodable>(
        _ column: String, as type: Value.Type = Value.self
    ) throws -> Value? {
        guard let index = columns.indices[column] else {
            throw RowError(column: column, problem: "is not in the result")
        }
        guard let text = cells[index] else { return nil }
        guard let value = Value(postgresText: text) else {
            throw RowError(column: column, problem: "is not a valid \(type)")
        }
        return value
    }
}

/// The names of a result's columns, shared by its rows.
final class Columns: Sendable {
    let indices: [String: Int]

    init(_ names: [String]) {
        indices = Dictionary(zip(names, names.indices)) { first, _ in first }
    }
}

/// A column does not hold what the code expects. The error names the column, never the value.
public struct RowError: Error, Sendable, Equatable, CustomStringConvertible {
    public let column: String
    public let problem: String

    public init(column: String, problem: String) {
        self.column = column
        self.problem = problem
    }

    public var description: String { "column \"\(column)\" \(problem)" }
}

/// A type that can be read from PostgreSQL's text form of a value.
public protocol RowDecodable {
    init?(postgresText: String)
}

extension String: RowDecodable {
    public init?(postgresText: String) { self = postgresText }
}

extension Int: RowDecodable {
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Int64: RowDecodable {
    public init?(postgresText: String) { self.init(postgresText) }
}

extension Double: RowDecodable {
    public init?(postgresText: String) { self.init(postgresText) }
}

/// Seconds, as `extract(epoch from …)` gives them. What is infinite is no duration.
extension Duration: RowDecodable {
    public init?(postgresText: String) {
        guard let seconds = Double(postgresText), abs(seconds) < 1e15 else { return nil }
        self = .seconds(seconds)
    }
}

extension Bool: RowDecodable {
    public init?(postgresText: String) {
        switch postgresText {
        case "t": self = true
        case "f": self = false
        default: return nil
        }
    }
}

/// `bytea` in its hex form.
extension [UInt8]: RowDecodable {
    public init?(postgresText: String) {
        let digits = Array(postgresText.utf8)
        guard digits.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "x")]), digits.count.isMultiple(of: 2)
        else {
            return nil
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2 - 1)
        for index in stride(from: 2, to: digits.count, by: 2) {
            guard let high = Self.nibble(digits[index]), let low = Self.nibble(digits[index + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        self = bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Int32: RowDecodable {
    public init?(postgresText: String) { self.init(postgresText) }
}

/// A one-dimensional `text[]` without nulls. Any other array is invalid.
public struct TextArray: RowDecodable, Sendable {
    public let elements: [String]

    /// Reads `{plain,"quoted \"x\""}`
    /// (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO).
    public init?(postgresText: String) {
        // Reads scalars, because an element may start with a combining character that joins the brace.
        let text = postgresText.unicodeScalars
        guard text.count >= 2, text.first == "{", text.last == "}" else { return nil }
        var characters = text.dropFirst().dropLast().makeIterator()
        var elements: [String] = []
        var element = String.UnicodeScalarView()
        var isQuoted = false
        var wasQuoted = false

        func endElement() -> Bool {
            let isNull = !wasQuoted && String(element) == "NULL"
            elements.append(String(element))
            element = String.UnicodeScalarView()
            wasQuoted = false
            return !isNull
        }

        while let character = characters.next() {
            switch character {
            case "\\":
                guard let escaped = characters.next() else { return nil }
                element.append(escaped)
            case "\"":
                isQuoted.toggle()
                wasQuoted = true
            case "," where !isQuoted:
                guard endElement() else { return nil }
            case "{" where !isQuoted, "}" where !isQuoted: return nil
            default: element.append(character)
            }
        }
        guard text.count == 2 || endElement(), !isQuoted else { return nil }
        self.elements = elements
    }
}
