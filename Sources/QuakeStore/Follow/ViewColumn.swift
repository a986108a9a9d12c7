import Feed
import PostgreSQL

/// A column of the followed table, as a view keeps it.
public struct ViewColumn: Sendable, Equatable {
    /// What a view can keep without loss, for each SQL type.
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
        let column =
            "quake.\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
        return switch kind {
        case .integer, .real, .boolean, .time: column
        case .text: sqlType == "text" ? column : "\(column)::text"
        case .json: "to_json(\(column))::text"
        }
    }
}

/// The followed table's columns, and the expressions that read them.
struct TableShape: Sendable {
    /// Changes when the columns do, and when the table is written anew.
    let signature: String
    let columns: [ViewColumn]
    let expressions: String

    /// The file is the one that is there, whatever the snapshot: to a snapshot from before it was written anew, a table looks
    /// empty (https://www.postgresql.org/docs/current/mvcc-caveats.html).
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

/// One value of a row. The text's bytes are gone when the closure that was given the row returns.
public enum ViewValue {
    case null
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    /// To the millisecond.
    case time(Instant)
    /// Text or JSON, in UTF-8.
    case text(UnsafeRawBufferPointer)
}

/// A row of the followed table, or the fact that it is gone. Read once, column by column.
public struct ViewRow {
    /// The key, in UTF-8.
    public let code: UnsafeRawBufferPointer
    /// The row was deleted: it has no values.
    public let isGone: Bool
    private var rest: CopiedRow

    /// Reads a row of code, whether it is there, and the columns.
    init(_ row: CopiedRow) throws {
        rest = row
        guard let code = try rest.nextBytes(), let isThere = try rest.nextBool() else {
            throw CopiedRowError()
        }
        self.code = code
        isGone = !isThere
    }

    /// The value of the next column.
    public mutating func next(_ column: ViewColumn) throws -> ViewValue {
        switch column.kind {
        case .text, .json: try rest.nextBytes().map { .text($0) } ?? .null
        case .integer: try rest.nextInteger().map { .integer($0) } ?? .null
        case .real: try rest.nextDouble().map { .real($0) } ?? .null
        case .boolean: try rest.nextBool().map { .boolean($0) } ?? .null
        case .time: try rest.nextInteger().map { .time(Instant(microsecondsSince2000: $0)) } ?? .null
        }
    }
}

extension Instant {
    /// PostgreSQL's binary form; what is finer than a millisecond is cut off.
    fileprivate init(microsecondsSince2000 microseconds: Int64) {
        let (milliseconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1000)
        self.init(milliseconds: milliseconds + (rest < 0 ? -1 : 0) + 946_684_800_000)
    }
}
