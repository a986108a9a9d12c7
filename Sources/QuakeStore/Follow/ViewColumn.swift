import Feed
import PostgreSQL

/// A column of the followed table, as a view keeps it.
public struct ViewColumn: Sendable, Equatable {
    public let name: String
    let sqlType: String

    /// How a view can keep its values without loss: JSON and arrays as JSON text.
    public var kind: ColumnKind { ColumnKind(sqlType: sqlType) }

    /// The expression whose binary form `ViewRow` reads.
    var expression: String {
        let column = "quake.\"\(name.replacing("\"" as Unicode.Scalar, with: "\"\""))\""
        if kind != .text || sqlType == "text" { return column }
        let isJSON = ["json", "jsonb"].contains(sqlType) || sqlType.hasSuffix("[]")
        return isJSON ? "to_json(\(column))::text" : "\(column)::text"
    }
}
