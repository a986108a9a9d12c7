/// A Swift type into which columns of certain PostgreSQL types can be decoded.
public protocol RowDecodable {
    static var sqlTypes: [UInt32] { get }
    /// Reads the row's next column, which has one of `sqlTypes`; nil for null.
    static func next(in row: inout Row) throws -> Self?
}

extension String: RowDecodable {
    /// The types char, name, text, json, unknown, character, character varying, uuid and jsonb, by their object identifiers.
    public static let sqlTypes: [UInt32] = [18, 19, 25, 114, 705, 1042, 1043, 2950, 3802]

    public static func next(in row: inout Row) throws -> String? {
        switch row.sqlType {
        case 2950: try row.nextBytes().map(uuid)
        case 3802: try row.nextJSON().map { String(decoding: $0, as: UTF8.self) }
        default: try row.nextText()
        }
    }

    private static func uuid(_ bytes: UnsafeRawBufferPointer) -> String {
        bytes.enumerated().map { index, byte in
            ([4, 6, 8, 10].contains(index) ? "-" : "") + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}

extension FixedWidthInteger where Self: RowDecodable {
    /// The types bigint, smallint and integer.
    public static var sqlTypes: [UInt32] { [20, 21, 23] }

    public static func next(in row: inout Row) throws -> Self? {
        try row.nextInteger().map { integer in
            guard let value = Self(exactly: integer) else { throw RowError.other }
            return value
        }
    }
}

extension Int: RowDecodable {}
extension Int64: RowDecodable {}
extension Int32: RowDecodable {}

extension Double: RowDecodable {
    /// The types real and double precision.
    public static let sqlTypes: [UInt32] = [700, 701]

    public static func next(in row: inout Row) throws -> Double? { try row.nextDouble() }
}

extension Bool: RowDecodable {
    public static let sqlTypes: [UInt32] = [16]

    public static func next(in row: inout Row) throws -> Bool? { try row.nextBool() }
}

/// An `interval` without months, such as the difference of two times. Each of its days counts as 24 hours.
extension Duration: RowDecodable {
    public static let sqlTypes: [UInt32] = [1186]

    public static func next(in row: inout Row) throws -> Duration? {
        guard let bytes = try row.nextBytes() else { return nil }
        // The value has eight bytes for the microseconds, four for the days and four for the months.
        guard bytes.count == 16, bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self) == 0 else {
            throw RowError.other
        }
        let days = bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self).bigEndian
        return .microseconds(bytes.loadUnaligned(as: Int64.self).bigEndian) + .seconds(86400 * Int64(days))
    }
}

/// Decodes a `bytea` as `[UInt8]`, and a `text[]` or `name[]` as `[String]`.
extension Array: RowDecodable where Element: RowElement {
    public static var sqlTypes: [UInt32] { Element.arrayTypes }

    public static func next(in row: inout Row) throws -> [Element]? { try Element.nextArray(in: &row) }
}

public protocol RowElement {
    static var arrayTypes: [UInt32] { get }
    static func nextArray(in row: inout Row) throws -> [Self]?
}

extension UInt8: RowElement {
    public static let arrayTypes: [UInt32] = [17]

    public static func nextArray(in row: inout Row) throws -> [UInt8]? {
        try row.nextBytes().map { Array($0) }
    }
}

extension String: RowElement {
    public static let arrayTypes: [UInt32] = [1003, 1009]

    public static func nextArray(in row: inout Row) throws -> [String]? { try row.nextTexts() }
}
