/// Reads one complete JSON text (RFC 8259) from raw bytes, strictly, and without building a tree of values.
///
/// Values are returned as numbers and byte ranges. Where RFC 8259 leaves a choice, the reader is strict: member names
/// are unique within an object, strings are valid UTF-8, their escapes are valid UTF-16 (no lone surrogate), and
/// nesting is limited to `nestingLimit`.
///
/// The bytes are borrowed: use a cursor only inside the closure that got the bytes.
struct JSONCursor {
    static let nestingLimit = 128

    let bytes: UnsafeBufferPointer<UInt8>
    var position = 0
    /// Whether any string so far contains U+0000, which PostgreSQL's text does not allow.
    var sawNUL = false
    /// Whether any number so far does not fit PostgreSQL's numeric, and therefore not jsonb.
    var sawOversizedNumber = false
    /// How many digits jsonb adds to the numbers so far, because it writes them without exponents.
    var addedDigits = 0
    private var depth = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The byte at the position, or 0 at the end. No JSON token begins with 0.
    @inline(__always)
    var next: UInt8 {
        position < bytes.count ? bytes[position] : 0
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while position < bytes.count, bytes[position].isJSONWhitespace { position += 1 }
    }

    @inline(__always)
    mutating func consume(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    func error(
        _ text: String, _ reason: Rejection.Reason = .syntax, at offset: Int? = nil
    ) -> JSONError {
        JSONError(reason: reason, text: text, offset: offset ?? position)
    }

    func duplicate(_ name: JSONText) -> JSONError {
        error("duplicate member name", .duplicate, at: name.start)
    }

    // MARK: Containers

    /// Reads an object; `body` gets each name and must read its value.
    ///
    /// Duplicate names are not detected here, because a caller that expects certain names can detect them faster.
    mutating func readObject(
        _ body: (inout JSONCursor, JSONText) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard consume(UInt8(ascii: "{")) else { throw error("expected an object") }
        try enter()
        if !consume(UInt8(ascii: "}")) {
            repeat {
                skipWhitespace()
                guard next == UInt8(ascii: "\"") else { throw error("expected a member name") }
                let name = try readString()
                guard consume(UInt8(ascii: ":")) else { throw error("expected ':'") }
                skipWhitespace()
                try body(&self, name)
            } while consume(UInt8(ascii: ","))
            guard consume(UInt8(ascii: "}")) else { throw error("expected ',' or '}'") }
        }
        depth -= 1
    }

    /// Reads an array; `body` must read each element.
    mutating func readArray(_ body: (inout JSONCursor) throws(JSONError) -> Void) throws(JSONError) {
        guard consume(UInt8(ascii: "[")) else { throw error("expected an array") }
        try enter()
        if !consume(UInt8(ascii: "]")) {
            repeat {
                skipWhitespace()
                try body(&self)
            } while consume(UInt8(ascii: ","))
            guard consume(UInt8(ascii: "]")) else { throw error("expected ',' or ']'") }
        }
        depth -= 1
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= Self.nestingLimit else { throw error(JSONError.tooDeep) }
    }

    mutating func skipValue() throws(JSONError) {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "{"):
            var names = MemberNames()
            try readObject { (cursor, name) throws(JSONError) in
                guard names.insert(name, in: cursor.bytes) else {
                    throw cursor.duplicate(name)
                }
                try cursor.skipValue()
            }
        case UInt8(ascii: "["):
            try readArray { (cursor) throws(JSONError) in try cursor.skipValue() }
        case UInt8(ascii: "\""): _ = try readString()
        case UInt8(ascii: "t"): try readLiteral("true")
        case UInt8(ascii: "f"): try readLiteral("false")
        case UInt8(ascii: "n"): try readLiteral("null")
        default: _ = try readNumber()
        }
    }

    /// The first error in the bytes; nil if they are a valid JSON text.
    static func fault(in bytes: UnsafeBufferPointer<UInt8>) -> JSONError? {
        var cursor = JSONCursor(bytes)
        do {
            try cursor.skipValue()
            try cursor.expectEnd()
            return nil
        } catch {
            return error
        }
    }

    mutating func expectEnd() throws(JSONError) {
        skipWhitespace()
        guard position == bytes.count else { throw error("expected the end") }
    }

    // MARK: Scalars

    @inline(__always)
    mutating func consumeNull() throws(JSONError) -> Bool {
        guard next == UInt8(ascii: "n") else { return false }
        if position + 4 <= bytes.count,
            UnsafeRawPointer(bytes.baseAddress! + position).loadUnaligned(as: UInt32.self)
                == UInt32(littleEndian: 0x6C6C_756E)
        {
            position += 4
            return true
        }
        throw error("expected a value")
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        let count = literal.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw error("expected a value") }
        for index in 0..<count where bytes[position + index] != literal.utf8Start[index] {
            throw error("expected a value")
        }
        position += count
    }

    /// Reads a string. The position must be at the opening quote.
    @inline(__always)
    mutating func readString() throws(JSONError) -> JSONText {
        let start = position + 1
        var index = start
        var isEscaped = false
        var isASCII = true
        while true {
            index = bytes.firstSpecialByte(from: index)
            guard index < bytes.count else { throw error("unterminated string") }
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") {
                isEscaped = true
                index = try checkEscape(at: index)
            } else if byte < 0x20 {
                throw error("control character in a string", at: index)
            } else {
                isASCII = false
                index += 1
                while index < bytes.count, bytes[index] >= 0x80 { index += 1 }
            }
        }
        position = index + 1
        if !isASCII { try checkUTF8(start..<index) }
        return JSONText(start: start, end: index, isEscaped: isEscaped)
    }

    private func checkUTF8(_ range: Range<Int>) throws(JSONError) {
        do {
            _ = try UTF8Span(validating: bytes.extracting(range).span)
        } catch {
            throw self.error("invalid UTF-8", .encoding, at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    /// Returns the index after the escape.
    private mutating func checkEscape(at index: Int) throws(JSONError) -> Int {
        guard index + 1 < bytes.count else { throw error("unterminated string") }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            guard let unit = bytes.utf16Unit(at: index) else { throw error("invalid escape", at: index) }
            if unit == 0 { sawNUL = true }
            if UTF16.isTrailSurrogate(unit) { throw error("lone surrogate", .encoding, at: index) }
            guard UTF16.isLeadSurrogate(unit) else { return index + 6 }
            guard let trail = bytes.utf16Unit(at: index + 6), UTF16.isTrailSurrogate(trail) else {
                throw error("lone surrogate", .encoding, at: index)
            }
            return index + 12
        default: throw error("invalid escape", at: index)
        }
    }
}

/// An error in JSON, with its offset in the bytes that were read.
struct JSONError: Error {
    let reason: Rejection.Reason
    /// The message, without the offset.
    let text: String
    let offset: Int
    /// Whether the JSON is well-formed up to the offset, but its content is not accepted.
    var isRefusal = false

    static let tooDeep = "nested more than \(JSONCursor.nestingLimit) levels deep"
}

/// The names seen in one object. Two names are equal if they have the same characters after unescaping.
struct MemberNames {
    /// The first few names, concatenated. Comparing a few names one by one is faster than a set.
    private var first: [UInt8] = []
    /// Where each of the first names ends.
    private var ends: [Int] = []
    private var others: Set<[UInt8]> = []

    /// Returns false if the name was inserted before.
    mutating func insert(_ name: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        name.withUTF8(in: bytes) { text in
            guard !isAmongFirst(text) else { return false }
            guard ends.count < Self.few else { return others.insert(Array(text)).inserted }
            if ends.isEmpty {
                first.reserveCapacity(16 * Self.few)
                ends.reserveCapacity(Self.few)
            }
            first.append(contentsOf: text)
            ends.append(first.count)
            return true
        }
    }

    private static let few = 16

    private func isAmongFirst(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        var start = 0
        for end in ends {
            if end - start == text.count, first[start..<end].elementsEqual(text) { return true }
            start = end
        }
        return false
    }
}
