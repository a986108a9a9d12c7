import Feed
import GRDB
import QuakeStore

struct SQLiteTable: Sendable {
    let columns: [ViewColumn]
    /// The statement that creates the table, written exactly as SQLite stores it in the file. A file that contains the same
    /// statement has the same columns.
    let definition: String
    /// Creates the view's tables for the rows of a fresh snapshot, in place of the old ones.
    let replacement: String
    /// Writes a row of a fresh snapshot.
    let insert: String
    let indexes: String
    /// Writes a row. If there is already a row with the same code and the same time, that row is updated. Unlike `insert or
    /// replace`, the update does not move the row. It also sets no indexed column, because SQLite would rewrite the index entry
    /// even for an equal value. So SQLite writes only half as many pages.
    ///
    /// A row with the same code and another time is not changed; `retime` has to update it.
    let upsert: String
    /// Like `upsert`, but also updates a row with another time; nil if the table has no time.
    let retime: String?

    init(_ columns: [ViewColumn]) {
        self.columns = columns
        let names = Self.names(of: columns).map {
            "\"\($0.replacing("\"" as Unicode.Scalar, with: "\"\""))\""
        }
        let declarations = zip(names, columns).map { name, column in
            "\(name) \(column.sqliteType)\(column.name == "code" ? " not null" : "")"
        }.joined(separator: ", ")
        definition = "CREATE TABLE quake (\(declarations))"
        replacement = """
            drop table if exists quake;
            \(definition);
            drop table if exists position;
            create table position (
                store text not null, token integer not null, committed_at text not null, nonce text not null, shape text not null);
            insert into position values ('', 0, '', '', '');
            pragma user_version = \(SQLiteView.version)
            """

        let insert = "insert into quake values (\(columns.map { _ in "?" }.joined(separator: ", ")))"
        self.insert = insert
        func upsert(_ kept: [String]) -> String {
            let values = names.filter { !kept.contains($0) }.map { "\($0) = excluded.\($0)" }
            return "\(insert) on conflict (code) do update set " + values.joined(separator: ", ")
        }
        let code = #""code""#
        let time = #""time""#
        let hasTime = names.contains(time)
        retime = hasTime ? upsert([code]) : nil
        self.upsert = hasTime ? upsert([code, time]) + " where quake.time is excluded.time" : upsert([code])
        indexes =
            "create unique index quake_code on quake (code);"
            + (hasTime ? "create index quake_time on quake (time desc, code)" : "")
    }

    /// The names of the columns in the file, in their order.
    ///
    /// SQLite ignores the case of ASCII letters in names, so a table cannot have both `Place` and `place`. Names in lower case
    /// stay as they are, and all columns of Quakes have such names. A number is added to any other name that is already in use.
    private static func names(of columns: [ViewColumn]) -> [String] {
        var taken: Set<ExactText> = []
        var names: [Int: String] = [:]
        let isLower = columns.map { ExactText($0.name.inLowerASCII) == ExactText($0.name) }
        for index in columns.indices.filter({ isLower[$0] }) + columns.indices.filter({ !isLower[$0] }) {
            var (name, number) = (columns[index].name, 1)
            while !taken.insert(ExactText(name.inLowerASCII)).inserted {
                number += 1
                name = "\(columns[index].name)_\(number)"
            }
            names[index] = name
        }
        return columns.indices.map { names[$0] ?? "" }
    }

    static func definition(in db: Database) throws -> String? {
        try String.fetchOne(db, sql: "select sql from sqlite_schema where type = 'table' and name = 'quake'")
    }
}

extension ViewColumn {
    fileprivate var sqliteType: String {
        switch kind {
        case .integer, .boolean: "integer"
        case .number: "real"
        case .text, .time: "text"
        }
    }
}
