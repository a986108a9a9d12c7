import PostgreSQL

/// The text form of values in the history. The history stores values as text within JSON. A session that puts these texts back
/// into rows needs the same text form, which must not depend on the settings of the server, the database and the login.
enum HistoryText {
    /// The settings of `history.record` and `history.changes`.
    static let shaping: KeyValuePairs = [
        "timezone": "UTC", "datestyle": "ISO, YMD", "intervalstyle": "postgres", "extra_float_digits": "1",
        "bytea_output": "hex",
    ]

    /// The script that applies `shaping` to the open transaction. It also makes the server refuse to read a table if a policy
    /// hides some of its rows, because a hidden row would look like a deleted row
    /// (https://www.postgresql.org/docs/current/ddl-rowsecurity.html).
    static let settings = shapingScript + "; set local row_security = off"

    /// The script that applies only `shaping`.
    static let shapingScript = shaping.map { "set local \($0.key) = '\($0.value)'" }.joined(separator: "; ")

    /// The columns with the author and the context of a change; both are null if they are hidden.
    static func author(isNamed: Bool) -> Query {
        isNamed ? "author, context" : "null::text as author, null::text as context"
    }

    /// A query for the values that undo changes. It has one row for each key: the values to put back, and the operation of the
    /// key's first change. If that change is an insert, the row did not exist before.
    ///
    /// - Parameter changes: changes of one table, for a FROM clause.
    static func undone(of changes: Query) -> Query {
        """
        select key collate "C" as key, history.overwritten(before order by token desc, ordinal desc) as before,
               (array_agg(operation order by token desc, ordinal desc))[count(*)] as operation
        from \(changes) as change
        group by 1
        """
    }
}
