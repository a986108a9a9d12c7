/// The kind of a column's values, as followers and reports need it.
public enum ColumnKind: String, Sendable {
    case integer, number, boolean, time, text

    /// - Parameter sqlType: the type's name as `format_type` returns it. A type that is not listed here is read as text.
    init(sqlType: String) {
        self =
            switch sqlType {
            case "smallint", "integer", "bigint": .integer
            case "real", "double precision": .number
            case "boolean": .boolean
            case "timestamp with time zone": .time
            default: .text
            }
    }
}
