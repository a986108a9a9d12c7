extension [UInt8] {
    /// Appends a field of RFC 4180, quoted if it has to be.
    package mutating func append(csvField text: UnsafeRawBufferPointer) {
        let quote = UInt8(ascii: "\"")
        let isPlain = text.allSatisfy { byte in
            byte != quote && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "\n")
                && byte != UInt8(ascii: "\r")
        }
        guard !isPlain else { return append(contentsOf: text) }
        append(quote)
        for byte in text {
            if byte == quote { append(quote) }
            append(byte)
        }
        append(quote)
    }
}
