import Feed
import PostgreSQL

/// A column of the followed table, as a view keeps it.
public struct ViewColumn: Sendable, Equatable {
    /// How a view can keep the values of an SQL type without loss.
    public enum Kind: Sendable, Equatable {
        case text, integer, real, boolean
        /// A `timestamptz`.
        case time
        /// `jsonb` and arrays, as JSON text.
        case json
    }

    public let name: String
    public let kind: Kind
    private let sqlType: String

    init(name: String, sqlType: String) {
        self.name = name
        self.sqlType = sqlType
        kind =
            switch sqlType {
            case "smallint", "integer", "bigint": .integer
            case "real", "double precision": .real
            case "boolean": .boolean
            case "timestamp with time zone": .time
            case "json", "jsonb": .json
            case let type where type.hasSuffix("[]"): .json
            default: .text
            }
    }

    /// The expression whose binary form `ViewRow` reads.
    var expression: String {
        let column = "quake.\"\(name.replacing("\"" as Unicode.Scalar, with: "\"\""))\""
        return switch kind {
        case .integer, .real, .boolean, .time: column
        case .text: sqlType == "text" ? column : "\(column)::text"
        case .json: "to_json(\(column))::text"
        }
    }
}
