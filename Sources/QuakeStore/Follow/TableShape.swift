import Feed
import PostgreSQL

/// The followed table's columns, and the expressions that read them.
public struct TableShape: Sendable {
    /// The result of `history.shape`. It changes whenever rows may have changed without a record in the history.
    public let signature: String
    public let columns: [ViewColumn]
    let expressions: String

    static func read(on connection: Connection) async throws -> TableShape {
        let rows = try await connection.query(
            """
            select attname as name, history.shape(attrelid) as signature,
                   coalesce((select nullif(typbasetype, 0) from pg_type where oid = atttypid), atttypid)::regtype::text as type
            from pg_attribute
            where attrelid = 'public.quake'::regclass and attnum > 0 and not attisdropped
            order by attnum
            """, to: "read the table's columns")
        let columns = try rows.map { ViewColumn(name: try $0.decode("name"), sqlType: try $0.decode("type")) }
        return TableShape(
            signature: try rows.first?.decode("signature") ?? "", columns: columns,
            expressions: columns.map(\.expression).joined(separator: ", "))
    }
}

public struct ViewColumn: Sendable, Equatable {
    public let name: String
    /// The type's name; for a domain, the name of the type from which it is directly derived.
    let sqlType: String

    /// The kind of value in which a view can store the column without loss. JSON and arrays are stored as JSON text.
    public var kind: ColumnKind { ColumnKind(sqlType: sqlType) }

    /// The expression whose binary form `ViewRow` reads.
    var expression: String {
        let column = "quake.\"\(name.replacing("\"" as Unicode.Scalar, with: "\"\""))\""
        if kind != .text || sqlType == "text" { return column }
        let isJSON = ["json", "jsonb"].contains(sqlType) || sqlType.hasSuffix("[]")
        return isJSON ? "to_json(\(column))::text" : "\(column)::text"
    }
}
