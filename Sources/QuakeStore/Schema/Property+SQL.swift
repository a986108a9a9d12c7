import Feed
import PostgreSQL

/// The columns of `quake` that an import fills.
extension Property {
    /// `net = excluded.net, …`, for every column but the key.
    static let assignments = allCases.filter { $0 != .code }
        .map { "\($0.column) = excluded.\($0.column)" }.joined(separator: ", ")

    func condition(_ range: ClosedRange<Double>) -> Query {
        // For a range with both ends, a generic plan expects few rows, and sorts them all. So a range with only one end gets only
        // one comparison.
        if range.lowerBound == -.infinity { return "\(unescaped: column) <= \(range.upperBound)" }
        // A column without a limit can hold NaN, which the server sorts after infinity.
        if limit != nil, range.upperBound == .infinity {
            return "\(unescaped: column) >= \(range.lowerBound)"
        }
        return "\(unescaped: column) between \(range.lowerBound) and \(range.upperBound)"
    }

    /// The condition that the column's text, or an element of its list, is one of these texts.
    func condition(_ texts: [String]) -> Query {
        // Codes are compared exactly, so that the primary key's index finds them.
        if self == .code { return "code = any(\(texts))" }
        guard kind == .list else {
            return "lower(\(unescaped: column)::text collate \"C\") = any(\(texts.map(\.inLowerASCII)))"
        }
        return Self.condition(texts, onList: column)
    }

    static func condition(_ texts: [String], onList column: String) -> Query {
        """
        exists (select from unnest(\(unescaped: column)) as one where lower(one collate "C") = any(\(texts.map(\.inLowerASCII))))
        """
    }
}

extension [Property] {
    /// The columns as in a SELECT list, each with `prefix` before its name.
    func list(_ prefix: String = "") -> String { map { prefix + $0.column }.joined(separator: ", ") }

    /// The columns and their types, as in the definition of a record.
    var declarations: String { map { "\($0.column) \($0.kind.sqlType)" }.joined(separator: ", ") }
}

extension Query {
    /// Combines a query for one row with a query for other rows in one statement, so that both see the same snapshot. Each result
    /// row has the columns of both queries, the first query's columns first. The columns of the other query are null.
    ///
    /// - Parameters:
    ///   - width: how many columns the first row has.
    ///   - rest: the text after SELECT for the other rows.
    ///   - columns: how many columns the other rows have.
    static func row(_ row: Query, width: Int, before rest: Query, columns: Int) -> Query {
        """
        select *\(unescaped: String(repeating: ", null", count: columns)) from (\(row)) as first
        union all
        select \(unescaped: String(repeating: "null, ", count: width))\(rest)
        """
    }
}

extension Property.Kind {
    var sqlType: String {
        switch self {
        case .text: "text"
        case .number: "double precision"
        case .integer: "integer"
        case .flag: "boolean"
        case .time: "timestamptz"
        case .list: "text[]"
        case .json: "jsonb"
        }
    }
}

extension Quake {
    /// Reads a row that has the columns in the order of `Property.allCases`.
    init(_ row: inout Row) throws {
        try self.init { try Value($0.kind, &row) }
    }
}

extension Quake.Value {
    /// Reads the next column, which must be of this kind.
    init(_ kind: Property.Kind, _ row: inout Row) throws {
        self =
            switch kind {
            case .text: try row.nextText().map { .text($0) } ?? .null
            case .number: try row.nextDouble().map { .number($0) } ?? .null
            case .integer: try row.nextInteger().map { .integer(Int32(truncatingIfNeeded: $0)) } ?? .null
            case .flag: try row.nextBool().map { .flag($0) } ?? .null
            case .time: try row.nextInstant().map { .time($0) } ?? .null
            case .list: try row.nextTexts().map { .list($0) } ?? .null
            case .json: try row.nextJSON().map { .json(String(decoding: $0, as: UTF8.self)) } ?? .null
            }
    }
}
