/// Reads a value as the type that its column needs, and refuses any other JSON type.
extension JSONCursor {
    @inline(__always)
    mutating func readValue(of kind: Property.Kind) throws(JSONError) -> QuakeRecord.Value {
        if try consumeNull() { return .null }
        return switch kind {
        case .text: .text(try readShortText())
        case .list: .list(try readText())
        case .number: .number(try readDouble())
        case .integer: .integer(try readInt32())
        case .flag: .flag(try readFlag())
        case .time: .time(try readTimestamp())
        // Only `extra` has this kind, and `extra` is not a single member of a feature.
        case .json: throw error("expected a value")
        }
    }

    func refusal(_ reason: Rejection.Reason, _ message: String) -> JSONError {
        JSONError(reason: reason, text: message, offset: position, isRefusal: true)
    }

    @inline(__always)
    private mutating func readText() throws(JSONError) -> JSONText {
        guard next == UInt8(ascii: "\"") else {
            throw refusal(.type, "expected a string, found \(nextType)")
        }
        return try readString()
    }

    @inline(__always)
    private mutating func readShortText() throws(JSONError) -> JSONText {
        let text = try readText()
        // Escapes make the raw text longer than its content, so the content is measured only if the raw text is too long.
        if text.rawCount > Property.textLimit, text.withUTF8(in: bytes, { $0.count }) > Property.textLimit {
            throw refusal(.size, "longer than \(Property.textLimit >> 10) KiB")
        }
        return text
    }

    @inline(__always)
    private mutating func readDouble() throws(JSONError) -> Double {
        guard let value = try readExpectedNumber().double(in: bytes) else {
            throw refusal(.range, "number outside the range of double precision")
        }
        return value
    }

    @inline(__always)
    private mutating func readInt32() throws(JSONError) -> Int32 {
        let number = try readExpectedNumber()
        guard let value = number.integer.flatMap(Int32.init(exactly:)) else {
            throw refusal(number.hasFraction ? .type : .range, "not an integer that fits 32 bits")
        }
        return value
    }

    /// Reads a time in milliseconds since 1970.
    @inline(__always)
    private mutating func readTimestamp() throws(JSONError) -> Int64 {
        let number = try readExpectedNumber()
        if number.hasFraction { throw refusal(.type, "not a whole number of milliseconds") }
        guard let value = number.timestamp else {
            throw refusal(.range, "time outside the years 1 to 9999")
        }
        return value
    }

    /// Reads a flag, which feeds write as 0 or 1.
    @inline(__always)
    private mutating func readFlag() throws(JSONError) -> Bool {
        switch try readExpectedNumber().integer {
        case 0: return false
        case 1: return true
        default: throw refusal(.range, "neither 0 nor 1")
        }
    }

    @inline(__always)
    private mutating func readExpectedNumber() throws(JSONError) -> JSONNumber {
        guard next.isDigit || next == UInt8(ascii: "-") else {
            throw refusal(.type, "expected a number, found \(nextType)")
        }
        return try readNumber()
    }

    private var nextType: StaticString {
        switch next {
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "a boolean"
        default: "a number"
        }
    }
}
