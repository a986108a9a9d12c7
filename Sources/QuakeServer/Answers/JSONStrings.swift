import Feed

// JSON's strings in bytes, without a String in between.
extension [UInt8] {
    /// A JSON string, quotes included. The bytes are UTF-8.
    mutating func append(jsonString bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        appendEscaped(bytes)
        append(UInt8(ascii: "\""))
    }

    mutating func append(jsonString text: String) {
        var text = text
        text.withUTF8 { append(jsonString: UnsafeRawBufferPointer($0)) }
    }

    /// The inside of a JSON string.
    mutating func appendEscaped(_ bytes: UnsafeRawBufferPointer) {
        var start = 0
        for (index, byte) in bytes.enumerated()
        where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            append(contentsOf: bytes[start..<index])
            start = index + 1
            if byte < 0x20 {
                append(text: "\\u00")
                for digit in [byte >> 4, byte & 15] {
                    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
                }
            } else {
                append(UInt8(ascii: "\\"))
                append(byte)
            }
        }
        append(contentsOf: bytes[start...])
    }
}
