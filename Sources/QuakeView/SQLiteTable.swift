import GRDB
import QuakeStore

/// The table `quake` of a view's file.
struct SQLiteTable: Sendable {
    let columns: [ViewColumn]
    /// The statement that makes the table, as SQLite keeps its text. A file tells by it whether it has these columns.
    let definition: String
    /// The names and types of the columns.
    let declarations: String
    /// Writes a row. If there is already one with the same code, that row is updated. Unlike `insert or replace`, this
    /// keeps the row in its place and the index untouched, so half as many pages have to be written.
    let upsert: String

    init(_ columns: [ViewColumn]) {
        self.columns = columns
        declarations = columns.map {
            "\($0.quotedName) \($0.sqliteType)\($0.name == "code" ? " not null" : "")"
        }.joined(separator: ", ")
        // The quotation marks are those of `alter table rename`.
        definition = "CREATE TABLE \"quake\" (\(declarations))"
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let values = columns.filter { $0.name != "code" }
            .map { "\($0.quotedName) = excluded.\($0.quotedName)" }.joined(separator: ", ")
        upsert = "insert into quake values (\(marks)) on conflict (code) do update set \(values)"
    }

    /// The statement that made the file's table; nil if there is none.
    static func definition(in db: Database) throws -> String? {
        try String.fetchOne(db, sql: "select sql from sqlite_schema where type = 'table' and name = 'quake'")
    }
}

extension ViewColumn {
    fileprivate var quotedName: String { "\"\(name.replacing("\"", with: "\"\""))\"" }

    fileprivate var sqliteType: String {
        switch kind {
        case .integer, .boolean: "integer"
        case .real: "real"
        case .text, .time, .json: "text"
        }
    }
}
