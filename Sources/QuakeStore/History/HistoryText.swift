/// The history keeps values as text within JSON. A reader that puts them back into rows has to make text of these in the same way,
/// with any settings of the server, the database and the login.
enum HistoryText {
    /// What `history.record` and `history.changes` set, too.
    static let shaping: KeyValuePairs = [
        "timezone": "UTC", "datestyle": "ISO, YMD", "intervalstyle": "postgres", "extra_float_digits": "1",
        "bytea_output": "hex",
    ]

    /// Sets it for the open transaction. A row that a policy hides can't be told from one that was deleted, so it is also refused to
    /// read a table of which a policy hides rows (https://www.postgresql.org/docs/current/ddl-rowsecurity.html).
    static let settings =
        (shaping.map { "set local \($0.key) = '\($0.value)'" } + ["set local row_security = off"])
        .joined(separator: "; ")
}
