/// Finds where one JSON value ends, looking only at brackets and strings.
///
/// It can stop at any byte and continue with the next chunk.
struct ValueSlicer {
    /// Deeper nesting is treated as an attack. The decoder's own limit is far lower.
    static let nestingLimit = 1 << 20

    private var kind = Kind.undecided
    private var isInString = false
    private var isAfterBackslash = false
    /// The open brackets, one bit each, 1 for a brace.
    private var brackets = BitStack()

    private enum Kind { case undecided, string, container, scalar }

    /// Continues from `start`. Returns the index after the value, or nil when the value continues beyond the chunk.
    ///
    /// - Throws: `JSONError` when a bracket does not match the one it closes, so that the value's end is unknown, or when
    ///   the nesting is too deep.
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
            index = bytes.firstStructuralByte(from: index)
            guard index < bytes.count else { return nil }
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte | 0x20 == UInt8(ascii: "{") {
                guard brackets.count < Self.nestingLimit else {
                    throw JSONError(kind: .nesting, offset: index - 1)
                }
                brackets.push(byte == UInt8(ascii: "{"))
            } else {
                guard brackets.pop() == (byte == UInt8(ascii: "}")) else {
                    throw JSONError(kind: .expected("the matching bracket"), offset: index - 1)
                }
                if brackets.count == 0 { return index }
            }
        }
        return nil
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
            index = bytes.firstQuoteOrBackslash(from: index)
            guard index < bytes.count else { return nil }
            if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
            index += 2
            if index > bytes.count {
                isAfterBackslash = true
                return nil
            }
        }
    }
}

/// A stack of bits; the first 64 need no allocation.
private struct BitStack {
    private(set) var count = 0
    private var top: UInt64 = 0
    private var below: [UInt64] = []

    mutating func push(_ bit: Bool) {
        if count > 0, count & 63 == 0 { below.append(top) }
        top = top << 1 | (bit ? 1 : 0)
        count += 1
    }

    mutating func pop() -> Bool? {
        guard count > 0 else { return nil }
        let bit = top & 1 == 1
        top >>= 1
        count -= 1
        if count > 0, count & 63 == 0 { top = below.removeLast() }
        return bit
    }
}
