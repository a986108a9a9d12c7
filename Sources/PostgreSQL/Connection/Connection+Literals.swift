extension Connection {
    /// A statement with its bound values as literals, for COPY, which does not accept bound values.
    ///
    /// The server reads exactly the same values, and refuses the same values, as if they were bound, except that a time must be one
    /// that `Instant` can have.
    func text(of query: Query) throws -> String { try query.text { try literal($0) } }

    private func literal(_ parameter: Parameter) throws -> String {
        if let element = Self.elements[parameter.type] { return try array(of: element, parameter.bytes) }
        let bytes = parameter.bytes ?? []
        let bits = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let (type, value): (String, String) =
            switch parameter.type {
            case Int.sqlType: ("bigint", "'\(Int64(bitPattern: bits))'")
            // Swift prints enough digits to read the same number back, and PostgreSQL understands `inf` and `nan`.
            case Double.sqlType: ("double precision", "'\(Double(bitPattern: bits))'")
            case Bool.sqlType: ("boolean", bits == 0 ? "false" : "true")
            case Parameter.timestamptz: ("timestamptz", Self.time(Int64(bitPattern: bits)))
            // PQescapeLiteral would cut the text off at a NUL.
            case String.sqlType where bytes.contains(0):
                ("text", "convert_from(\(Self.hexadecimal(bytes))::bytea, 'UTF8')")
            case String.sqlType: ("text", try quoted(String(decoding: bytes, as: UTF8.self)))
            default: ("bytea", Self.hexadecimal(bytes))
            }
        return "\(parameter.bytes == nil ? "null" : value)::\(type)"
    }

    private static let elements: [UInt32: (type: UInt32, name: String)] = [
        String.arrayType: (String.sqlType, "text"), Int64.arrayType: (Int64.sqlType, "bigint"),
        Double.arrayType: (Double.sqlType, "double precision"), Bool.arrayType: (Bool.sqlType, "boolean"),
        Parameter.timestamptzArray: (Parameter.timestamptz, "timestamptz"),
    ]

    private func array(of element: (type: UInt32, name: String), _ bytes: [UInt8]?) throws -> String {
        guard var rest = bytes?.dropFirst(BoundArray<String>.headSize) else {
            return "null::\(element.name)[]"
        }
        var items: [String] = []
        while rest.count >= 4 {
            let length = Int(rest.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
            rest = rest.dropFirst(4)
            items.append(try literal(Parameter(type: element.type, bytes: Array(rest.prefix(length)))))
            rest = rest.dropFirst(length)
        }
        return "array[\(items.joined(separator: ", "))]::\(element.name)[]"
    }

    /// A `timestamptz` as SQL. It contains no fraction of a second, because PostgreSQL would read a fraction as a floating-point
    /// number.
    private static func time(_ microseconds: Int64) -> String {
        let (hours, rest) = microseconds.quotientAndRemainder(dividingBy: 3_600_000_000)
        let parts = "\(hours) hours \(rest / 1000) milliseconds \(rest % 1000) microseconds"
        return "(timestamptz '2000-01-01 00:00Z' + interval '\(parts)')"
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "'\\x\(digits)'"
    }
}
