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
    public private(set) var text: String
    let parameters: [Parameter]

    public init(stringLiteral text: String) {
        self.text = text
        parameters = []
    }

    public init(stringInterpolation: StringInterpolation) {
        text = stringInterpolation.text
        parameters = stringInterpolation.parameters
    }

    /// The text, with its parameters numbered after the first `first` ones.
    private func renumbered(from first: Int) -> String {
        if first == 0 || parameters.isEmpty { return text }
        // By hand: the first regex of a program takes half a millisecond.
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { result, part in
            let digits = part.prefix { "0"..."9" ~= $0 }
            result += "$" + (Int(digits).map { "\($0 + first)" } ?? "") + part[digits.endIndex...]
        }
    }

    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var parameters: [Parameter] = []

        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 4 * interpolationCount)
        }

        public mutating func appendLiteral(_ literal: String) {
            text += literal
        }

        public mutating func appendInterpolation(_ value: some Bindable) {
            parameters.append(value.parameter)
            text += "$\(parameters.count)"
        }

        public mutating func appendInterpolation<Value: Bindable>(_ value: Value?) {
            parameters.append(value?.parameter ?? Parameter(type: Value.sqlType, bytes: nil))
            text += "$\(parameters.count)"
        }

        /// Splices another statement, together with its bound values.
        public mutating func appendInterpolation(_ query: Query) {
            text += query.renumbered(from: parameters.count)
            parameters += query.parameters
        }

        /// Splices SQL text as it is. Only for text from this program, such as a list of column names, and never for
        /// anything that came from outside.
        public mutating func appendInterpolation(unescaped sql: String) {
            text += sql
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
}

extension Bindable {
    fileprivate func bigEndian(_ value: some FixedWidthInteger) -> Parameter {
        Parameter(type: Self.sqlType, bytes: withUnsafeBytes(of: value.bigEndian) { Array($0) })
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

extension [UInt8]: Bindable {
    public static var sqlType: UInt32 { 17 }
    public var parameter: Parameter { Parameter(type: Self.sqlType, bytes: self) }
}
