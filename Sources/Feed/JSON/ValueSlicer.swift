/// Finds where one JSON value ends, looking only at brackets and strings.
///
/// It can stop at any byte and continue with the next chunk.
struct ValueSlicer {
    /// Deeper nesting is treated as an attack. The decoder's own limit is far lower.
    static let nestingLimit = 1 << 20

    private var kind = Kind.undecided
    private var isInString = false
    private var isAfterBackslash = false
    /// The closing brackets that are still expected, the innermost last.
    private var closers: [UInt8] = []

    private enum Kind { case undecided, string, container, scalar }

    /// Continues from `start`. Returns the index after the value, or nil when the value continues beyond the chunk.
    ///
    /// - Throws: `JSONError` when a closing bracket does not match the last open bracket, so that the value's end is unknown, or
    ///   when the nesting is too deep.
    mutating func consume(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) throws(JSONError) -> Int? {
        var index = start
        if kind == .undecided, index < bytes.count { index = begin(bytes, at: index) }
        if kind == .scalar { return endOfScalar(bytes, from: index) }
        while index < bytes.count {
            if isInString {
                guard let end = endOfString(bytes, from: index) else { return nil }
                isInString = false
                if kind == .string { return end }
                index = end
            }
            guard let found = bytes[index...].firstIndex(where: Self.isStructural) else { return nil }
            index = found
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte | 0x20 == UInt8(ascii: "{") {
                guard closers.count < Self.nestingLimit else {
                    throw JSONError(reason: .syntax, text: JSONError.tooDeep, offset: index - 1)
                }
                // In ASCII, the code of a closing bracket or brace is 2 more than the code of the opening one.
                closers.append(byte + 2)
            } else {
                guard closers.popLast() == byte else {
                    throw JSONError(
                        reason: .syntax, text: "expected the matching bracket", offset: index - 1)
                }
                if closers.isEmpty { return index }
            }
        }
        return nil
    }

    private static func isStructural(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }

    private mutating func begin(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        switch bytes[index] {
        case UInt8(ascii: "\""):
            kind = .string
            isInString = true
            return index + 1
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            kind = .container
            return index
        default:
            kind = .scalar
            return index
        }
    }

    /// A number or a literal ends before a delimiter.
    private func endOfScalar(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        for index in start..<bytes.count {
            switch bytes[index] {
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), 0x20, 0x0A, 0x0D, 0x09: return index
            default: continue
            }
        }
        return nil
    }

    private mutating func endOfString(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        var index = start
        if isAfterBackslash {
            isAfterBackslash = false
            index += 1
        }
        while true {
            let found = bytes[index...].firstIndex {
                $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\")
            }
            guard let found else { return nil }
            if bytes[found] == UInt8(ascii: "\"") { return found + 1 }
            index = found + 2
            if index > bytes.count {
                isAfterBackslash = true
                return nil
            }
        }
    }
}
