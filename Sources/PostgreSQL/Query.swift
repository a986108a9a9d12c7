/// A statement with its bound values.
///
/// Written as a string literal; each interpolated value becomes a parameter (`$1`, `$2`, …) and is never
/// spliced into the text:
///
///     let query: Query = "select place from quake where code = \(code)"
///
/// Parameters are typed, so a value that is compared with a column of another type needs a cast:
/// `"… where time >= \(text)::timestamptz"`.
///
/// PostgreSQL's text has no NUL character: the server refuses a String that contains one (SQLSTATE 22021).
public struct Query: Sendable, ExpressibleByStringInterpolation {
    private(set) var pieces: [Piece]

    enum Piece: Sendable {
        case sql(String)
        case value(Parameter)
    }

    public init(stringLiteral text: String) {
        pieces = [.sql(text)]
    }

    public init(stringInterpolation: StringInterpolation) {
        pieces = stringInterpolation.pieces
    }

    /// The statement, with a placeholder for each value.
    public var text: String {
        var number = 0
        return text { _ in
            number += 1
            return "$\(number)"
        }
    }

    /// The statement, with this text for each value.
    func text(_ value: (Parameter) throws -> String) rethrows -> String {
        var text = ""
        for piece in pieces {
            switch piece {
            case .sql(let sql): text += sql
            case .value(let parameter): text += try value(parameter)
            }
        }
        return text
    }

    var parameters: [Parameter] {
        pieces.compactMap { if case .value(let parameter) = $0 { parameter } else { nil } }
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var pieces: [Piece] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(2 * interpolationCount + 1)
        }

        public mutating func appendLiteral(_ literal: String) {
            pieces.append(.sql(literal))
        }

        public mutating func appendInterpolation(_ value: some Bindable) {
            pieces.append(.value(value.parameter))
        }

        public mutating func appendInterpolation<Value: Bindable>(_ value: Value?) {
            pieces.append(.value(value?.parameter ?? Parameter(type: Value.sqlType, bytes: nil)))
        }

        /// Splices another statement, together with its bound values.
        public mutating func appendInterpolation(_ query: Query) {
            pieces += query.pieces
        }

        /// Splices SQL text as it is. Only for text from this program, such as a list of column names, and never for
        /// anything that came from outside.
        public mutating func appendInterpolation(unescaped sql: String) {
            pieces.append(.sql(sql))
        }
    }
}

/// A value that can be bound to a statement.
public protocol Bindable: Sendable {
    /// The type's object identifier in `pg_type`.
    static var sqlType: UInt32 { get }
    var parameter: Parameter { get }
}

/// One bound value, in the binary form of its type, so that nothing is cut off at a NUL and nothing is rounded.
public struct Parameter: Sendable {
    let type: UInt32
    /// nil means SQL's null.
    let bytes: [UInt8]?

    static let timestamptz: UInt32 = 1184

    /// A `timestamptz`.
    public static func time(microsecondsSince2000 microseconds: Int64) -> Parameter {
        Parameter(type: timestamptz, bigEndian: microseconds)
    }
}

extension Parameter {
    fileprivate init(type: UInt32, bigEndian value: some FixedWidthInteger) {
        self.init(type: type, bytes: withUnsafeBytes(of: value.bigEndian) { Array($0) })
    }
}

extension Bindable {
    fileprivate func bigEndian(_ value: some FixedWidthInteger) -> Parameter {
        Parameter(type: Self.sqlType, bigEndian: value)
    }
}

extension [Query] {
    /// All of them, with this text in between, which is used as it is.
    public func joined(by separator: String) -> Query {
        dropFirst().reduce(first ?? "") { "\($0)\(unescaped: separator)\($1)" }
    }
}

extension String: Bindable {
    public static var sqlType: UInt32 { 25 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: Array(utf8)) }
}

extension Int: Bindable {
    public static var sqlType: UInt32 { 20 }
    public var parameter: Parameter { bigEndian(Int64(self)) }
}

extension Int64: Bindable {
    public static var sqlType: UInt32 { 20 }
    public var parameter: Parameter { bigEndian(self) }
}

extension Double: Bindable {
    public static var sqlType: UInt32 { 701 }
    public var parameter: Parameter { bigEndian(bitPattern) }
}

extension Bool: Bindable {
    public static var sqlType: UInt32 { 16 }
    public var parameter: Parameter { bigEndian(UInt8(self ? 1 : 0)) }
}
