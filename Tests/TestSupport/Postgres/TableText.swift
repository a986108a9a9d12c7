import Foundation
import GRDB
import PostgreSQL

/// Every value of a table `quake` as text that shows the type and all bits, ordered by code.
///
/// The server and SQLite render the values independently, so values whose texts agree are the same.
public struct TableText: Equatable, Sendable {
    public let columns: [String]
    public let rows: [[String]]

    /// The first difference between two tables; nil when they are equal.
    public func difference(from other: TableText) -> String? {
        guard columns == other.columns else { return "columns \(columns), \(other.columns)" }
        for (one, another) in zip(rows, other.rows) where one != another {
            let values = zip(columns, zip(one, another)).filter { $1.0 != $1.1 }
            return "\(one[0]), \(another[0]): \(values)"
        }
        return rows.count == other.rows.count ? nil : "\(rows.count), \(other.rows.count) rows"
    }
}

// MARK: The server

extension TestDatabase {
    public func tableText() async throws -> TableText {
        let columns = try await query(
            """
            select column_name as name, data_type as type from information_schema.columns
            where table_schema = 'public' and table_name = 'quake' order by ordinal_position
            """
        ).map { (name: try $0.decode("name", as: String.self), type: try $0.decode("type", as: String.self)) }
        let expressions = columns.map {
            "coalesce(\(Self.expression(Self.quoted($0.name), $0.type)), 'null') as \(Self.quoted($0.name))"
        }
        let rows = try await query(
            """
            select \(unescaped: expressions.joined(separator: ", "))
            from public.quake order by quake.code collate "C"
            """)
        return TableText(
            columns: columns.map(\.name),
            rows: try rows.map { row in try columns.map { try row.decode($0.name) } })
    }

    private static func quoted(_ name: String) -> String {
        "\"\(name.replacing("\"", with: "\"\""))\""
    }

    private static func expression(_ name: String, _ type: String) -> String {
        switch type {
        case "integer", "bigint": "'integer ' || \(name)"
        case "boolean": "'integer ' || \(name)::integer"
        // SQLite has neither NaN nor a negative zero.
        case "double precision": "'real ' || encode(float8send(nullif(\(name), 'nan') + 0), 'hex')"
        case "timestamp with time zone":
            "'text ' || to_char(\(name) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
        case "ARRAY", "jsonb": "'text ' || to_json(\(name))"
        default: "'text ' || \(name)"
        }
    }
}

// MARK: The file

extension TableText {
    /// Reads a view's file.
    public init(file path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        self = try DatabaseQueue(path: path, configuration: configuration).read { try TableText($0) }
    }

    public init(_ db: Database) throws {
        let statement = try db.makeStatement(sql: "select * from quake order by code")
        columns = statement.columnNames
        rows = try GRDB.Row.fetchAll(statement).map { row in row.databaseValues.map(Self.text) }
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "null"
        case .int64(let integer): "integer \(integer)"
        case .double(let real):
            "real "
                + String(repeating: "0", count: real.bitPattern.leadingZeroBitCount / 4)
                + (real.bitPattern == 0 ? "" : String(real.bitPattern, radix: 16))
        case .string(let text): "text \(text)"
        case .blob: "blob"
        }
    }
}
