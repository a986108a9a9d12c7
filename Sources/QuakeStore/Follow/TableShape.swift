import PostgreSQL

/// The followed table's columns, and the expressions that read them.
public struct TableShape: Sendable {
    /// Changes when rows may have changed without a change in the history: what `history.shape` says.
    public let signature: String
    public let columns: [ViewColumn]
    let expressions: String

    static func read(on connection: Connection) async throws -> TableShape {
        let rows = try await connection.query(
            """
            select attname as name, atttypid::regtype::text as type, history.shape(attrelid) as signature
            from pg_attribute where attrelid = 'public.quake'::regclass and attnum > 0 and not attisdropped
            order by attnum
            """, to: "read the table's columns")
        let columns = try rows.map { ViewColumn(name: try $0.decode("name"), sqlType: try $0.decode("type")) }
        return TableShape(
            signature: try rows.first?.decode("signature") ?? "", columns: columns,
            expressions: columns.map(\.expression).joined(separator: ", "))
    }
}
