/// A statement with its bound values.
///
/// Write a query as a string literal. Each interpolated value becomes a parameter (`$1`, `$2`, …) and is never inserted into the
/// text:
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

        /// Inserts another statement, together with its bound values.
        public mutating func appendInterpolation(_ query: Query) {
            pieces += query.pieces
        }

        /// Inserts SQL text as it is. Use it only for text from this program, such as a list of column names, never for text from
        /// outside.
        public mutating func appendInterpolation(unescaped sql: String) {
            pieces.append(.sql(sql))
        }
    }
}

extension [Query] {
    /// Joins all queries into one, with the SQL text `separator` between them.
    public func joined(by separator: String) -> Query {
        dropFirst().reduce(first ?? "") { "\($0)\(unescaped: separator)\($1)" }
    }
}
