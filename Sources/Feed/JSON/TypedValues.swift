/// Values as their columns take them: null is nil, another JSON type is refused.
extension JSONCursor {
    func refusal(_ reason: Rejection.Reason, _ message: String) -> JSONError {
        error(.refused(reason, message))
    }

    @inline(__always)
    mutating func readText() throws(JSONError) -> JSONText? {
        if next == UInt8(ascii: "\"") { return try readString() }
        if try consumeNull() { return nil }
        throw refusal(.type, "expected a string, found \(nextType)")
    }

    @inline(__always)
    mutating func readDouble() throws(JSONError) -> Double? {
        guard let number = try readNumberIfPresent() else { return nil }
        guard let value = number.double(in: bytes) else {
            throw refusal(.range, "number out of the range of double precision")
        }
        return value
    }

    @inline(__always)
    mutating func readInt32() throws(JSONError) -> Int32? {
        guard let number = try readNumberIfPresent() else { return nil }
        guard let value = number.integer.flatMap(Int32.init(exactly:)) else {
            throw refusal(number.hasFraction ? .type : .range, "not an integer that fits 32 bits")
        }
        return value
    }

    /// Milliseconds since 1970 that PostgreSQL's timestamptz can hold.
    @inline(__always)
    mutating func readTimestamp() throws(JSONError) -> Int64? {
        guard let number = try readNumberIfPresent() else { return nil }
        if number.hasFraction { throw refusal(.type, "not a whole number of milliseconds") }
        guard let value = number.timestamp else {
            throw refusal(.range, "time out of the range of timestamptz")
        }
        return value
    }

    /// 0 or 1.
    @inline(__always)
    mutating func readFlag() throws(JSONError) -> Bool? {
        guard let number = try readNumberIfPresent() else { return nil }
        switch number.integer {
        case 0: return false
        case 1: return true
        default: throw refusal(.range, "neither 0 nor 1")
        }
    }

    @inline(__always)
    private mutating func readNumberIfPresent() throws(JSONError) -> JSONNumber? {
        if next.isDigit || next == UInt8(ascii: "-") { return try readNumber() }
        if try consumeNull() { return nil }
        throw refusal(.type, "expected a number, found \(nextType)")
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
