import Feed
import PostgreSQL

/// One value of a row. The bytes of a text are valid only until the closure that received the row returns.
public enum ViewValue {
    case null
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case time(Instant)
    /// Text or JSON, in UTF-8.
    case text(UnsafeRawBufferPointer)
}

/// A row of the followed table, or the deletion of a row. The values can be read once, column by column.
public struct ViewRow {
    public let code: UnsafeRawBufferPointer
    /// Whether the row was deleted; if so, it has no values.
    public let isGone: Bool
    private var rest: Row

    /// - Parameter row: a row of the result: the code, whether the table has a row with this code, and the columns.
    init(_ row: Row) throws {
        rest = row
        guard let code = try rest.nextBytes(), let isThere = try rest.nextBool() else {
            throw RowError.other
        }
        self.code = code
        isGone = !isThere
    }

    public mutating func next(_ kind: ColumnKind) throws -> ViewValue {
        switch kind {
        case .text: try rest.nextBytes().map { .text($0) } ?? .null
        case .integer: try rest.nextInteger().map { .integer($0) } ?? .null
        case .number: try rest.nextDouble().map { .real($0) } ?? .null
        case .boolean: try rest.nextBool().map { .boolean($0) } ?? .null
        case .time: try rest.nextInteger().map { ViewValue(microsecondsSince2000: $0) } ?? .null
        }
    }
}

extension ViewValue {
    /// Reads PostgreSQL's binary form of a time. An infinite time becomes the text that PostgreSQL writes for it.
    fileprivate init(microsecondsSince2000 microseconds: Int64) {
        self =
            switch microseconds {
            case .max: .text("infinity")
            case .min: .text("-infinity")
            default: .time(Instant(microsecondsSince2000: microseconds))
            }
    }

    private static func text(_ text: StaticString) -> ViewValue {
        .text(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
