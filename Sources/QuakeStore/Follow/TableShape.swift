import PostgreSQL

/// The followed table's columns, and the expressions that read them.
public struct TableShape: Sendable {
    /// Changes when the columns change, and when the table is rewritten.
    public let signature: String
    public let columns: [ViewColumn]
    let expressions: String

    /// The file node is always the current one, whatever the snapshot: to a snapshot from before a rewrite, the table
    /// looks empty (https://www.postgresql.org/docs/current/mvcc-caveats.html).
    static let signatureQuery = """
        select string_agg(attname || ' ' || atttypid, ',' order by attnum)
               || ' ' || pg_relation_filenode('public.quake'::regclass)
        \(fromColumns)
        """

    private static let fromColumns =
        "from pg_attribute where attrelid = 'public.quake'::regclass and attnum > 0 and not attisdropped"

    static func read(on connection: Connection) async throws -> TableShape {
        let rows = try await connection.query(
            """
            select attname as name, atttypid::regtype::text as type, (\(unescaped: signatureQuery)) as signature
            \(unescaped: fromColumns)
            order by attnum
            """, to: "read the table's columns")
        let columns = try rows.map { ViewColumn(name: try $0.decode("name"), sqlType: try $0.decode("type")) }
        return TableShape(
            signature: try rows.first?.decode("signature") ?? "", columns: columns,
            expressions: columns.map(\.expression).joined(separator: ", "))
    }
}
