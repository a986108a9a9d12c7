import Feed
import PostgreSQL

/// The columns of `quake` that an import fills.
extension Property {
    /// `net = excluded.net, …`, for every column but the key.
    static let assignments = allCases.filter { $0 != .code }
        .map { "\($0.column) = excluded.\($0.column)" }.joined(separator: ", ")

    func condition(_ range: ClosedRange<Double>) -> Query {
        // A plan without the values expects few rows from a range, and sorts them all. No column with a limit holds NaN, which
        // is beyond infinity to the server.
        if limit != nil, range.upperBound == .infinity {
            return "\(unescaped: column) >= \(range.lowerBound)"
        }
        return "\(unescaped: column) between \(range.lowerBound) and \(range.upperBound)"
    }

    /// Whether a text, or an element of a list, is one of these, which have no line feed.
    func condition(_ texts: [String]) -> Query {
        // The key's index finds a code.
        if self == .code { return "code = any(\(Self.array(of: texts)))" }
        guard kind == .list else {
            return "lower(\(unescaped: column)::text collate \"C\") = any(\(Self.array(ofLower: texts)))"
        }
        return Self.condition(texts, onList: column)
    }

    static func condition(_ texts: [String], onList column: String) -> Query {
        """
        exists (select from unnest(\(unescaped: column)) as one where lower(one collate "C") = any(\(array(ofLower: texts))))
        """
    }

    private static func array(ofLower texts: [String]) -> Query { array(of: texts.map(\.inLowerASCII)) }

    /// Texts, which have no line feed, as an array in SQL.
    static func array(of texts: [String]) -> Query {
        "string_to_array(\(texts.joined(separator: "\n")), E'\\n')"
    }
}

extension [Property] {
    /// Their columns, as a SELECT lists them, each with `prefix` in front.
    func list(_ prefix: String = "") -> String { map { prefix + $0.column }.joined(separator: ", ") }

    /// Their columns and the columns' types, as the definition of a record lists them.
    var declarations: String { map { "\($0.column) \($0.kind.sqlType)" }.joined(separator: ", ") }
}

extension Query {
    /// The row of a query, and then rows of the same statement, and so of the same snapshot. Each has the columns of both: in front
    /// those of the row, which are null in the others.
    ///
    /// - Parameters:
    ///   - width: how many columns the row has.
    ///   - rest: what follows the SELECT of the others, which have so many `columns`.
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
    /// Reads a row that has the columns in their order.
    init(_ row: inout Row) throws {
        try self.init { try Value($0.kind, &row) }
    }
}

extension Quake.Value {
    /// Reads the next column, which is of this kind.
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
