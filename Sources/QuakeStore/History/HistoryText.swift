/// The text form of values in the history. The history stores values as text within JSON. A session that puts these texts back
/// into rows needs the same text form, which must not depend on the settings of the server, the database and the login.
enum HistoryText {
    /// The settings of `history.record` and `history.changes`.
    static let shaping: KeyValuePairs = [
        "timezone": "UTC", "datestyle": "ISO, YMD", "intervalstyle": "postgres", "extra_float_digits": "1",
        "bytea_output": "hex",
    ]

    /// The script that applies `shaping` to the open transaction. It also makes the server refuse to read a table if a policy
    /// hides some of its rows, because a hidden row would look like a deleted one
    /// (https://www.postgresql.org/docs/current/ddl-rowsecurity.html).
    static let settings =
        (shaping.map { "set local \($0.key) = '\($0.value)'" } + ["set local row_security = off"])
        .joined(separator: "; ")
}
