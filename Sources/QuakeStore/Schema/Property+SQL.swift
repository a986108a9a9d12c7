import Feed
import PostgreSQL

/// The columns of `quake` that an import fills.
extension Property {
    static let columns = allCases.map(\.column)

    /// `code, net, …`, each with `prefix` in front.
    static func list(_ prefix: String = "") -> String {
        columns.map { prefix + $0 }.joined(separator: ", ")
    }

    /// `net = excluded.net, …`, for every column but the key.
    static let assignments = allCases.filter { $0 != .code }
        .map { "\($0.column) = excluded.\($0.column)" }.joined(separator: ", ")

    /// The columns, in the form that `Row.value(of:)` reads.
    static let selected = allCases.map { property in
        switch property.kind {
        case .time:
            "floor(extract(epoch from \(property.column)) * 1000)::bigint as \(property.column)"
        case .text, .number, .integer, .flag, .list, .json: property.column
        }
    }.joined(separator: ", ")

    /// Whether a number is within a range.
    func condition(_ range: ClosedRange<Double>) -> Query {
        "\(unescaped: column) between \(range.lowerBound) and \(range.upperBound)"
    }

    /// Whether a text, or an element of a list, is one of these, which have no line feed.
    func condition(_ texts: [String]) -> Query {
        let wanted: Query =
            "any(\(Self.array(of: self == .code ? texts : texts.map(QuakeSelection.typeName))))"
        // The key's index finds a code.
        if self == .code { return "code = \(wanted)" }
        let name = column
        guard kind == .list else { return "lower(\(unescaped: name)::text collate \"C\") = \(wanted)" }
        return """
            exists (select from unnest(\(unescaped: name)) as one where lower(one collate "C") = \(wanted))
            """
    }

    /// Texts, which have no line feed, as an array in SQL.
    static func array(of texts: [String]) -> Query {
        "string_to_array(\(texts.joined(separator: "\n")), E'\\n')"
    }
}

extension Property.Kind {
    /// The type of its columns.
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

extension Row {
    /// The value of a property, in a row that was read with `Property.selected`.
    func value(of property: Property) throws -> Quake.Value {
        let column = property.column
        return switch property.kind {
        case .text: try decodeIfPresent(column).map { .text($0) } ?? .null
        case .number: try decodeIfPresent(column).map { .number($0) } ?? .null
        case .integer: try decodeIfPresent(column).map { .integer($0) } ?? .null
        case .flag: try decodeIfPresent(column).map { .flag($0) } ?? .null
        case .time:
            try decodeIfPresent(column).map { .time(Instant(milliseconds: $0)) } ?? .null
        case .list: try decodeIfPresent(column, as: TextArray.self).map { .list($0.elements) } ?? .null
        case .json: try decodeIfPresent(column).map { .json($0) } ?? .null
        }
    }
}
