/// One JSON object. Its members are in the order in which they were written or appended.
package struct JSONObject: ExpressibleByDictionaryLiteral, JSONConvertible {
    private var members: [String] = []

    package init(dictionaryLiteral members: (String, (any JSONConvertible)?)...) {
        for (name, value) in members { append(name, value) }
    }

    package mutating func append(_ name: String, _ value: (any JSONConvertible)?) {
        members.append("\(name.jsonText):\(value?.jsonText ?? "null")")
    }

    package var jsonText: String { "{\(members.joined(separator: ","))}" }
}

package protocol JSONConvertible {
    var jsonText: String { get }
}

package struct RawJSON: JSONConvertible {
    package let jsonText: String

    package init(_ text: String) { jsonText = text }
}

extension String: JSONConvertible {
    /// The text as a string of JSON, quotes included.
    package var jsonText: String {
        var bytes: [UInt8] = []
        bytes.append(json: utf8)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Double: JSONConvertible {
    /// JSON has neither infinity nor NaN: both become null.
    package var jsonText: String { isFinite ? "\(self)" : "null" }
}

extension Int: JSONConvertible {
    package var jsonText: String { "\(self)" }
}

extension Bool: JSONConvertible {
    package var jsonText: String { "\(self)" }
}

extension Instant: JSONConvertible {
    package var jsonText: String { description.jsonText }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    package var jsonText: String { "[\(map(\.jsonText).joined(separator: ","))]" }
}

extension [UInt8] {
    /// Appends a text as a JSON string. Invalid UTF-8 stays as it is, so that the decoder rejects it.
    mutating func append(json text: some Collection<UInt8>) {
        if text.withContiguousStorageIfAvailable({ append(json: UnsafeRawBufferPointer($0)) }) == nil {
            Array(text).withUnsafeBytes { append(json: $0) }
        }
    }

    package mutating func append(json text: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        append(insideJSON: text)
        append(UInt8(ascii: "\""))
    }

    /// Appends the content of a JSON string, without the quotes.
    package mutating func append(insideJSON bytes: UnsafeRawBufferPointer) {
        let text = bytes.bindMemory(to: UInt8.self)
        var (copied, index) = (0, text.firstSpecialByte(from: 0))
        while index < text.count {
            let byte = text[index]
            if byte < 0x80 {
                append(contentsOf: text.extracting(copied..<index))
                copied = index + 1
                if byte == UInt8(ascii: "\n") {
                    append(text: "\\n")
                } else if byte < 0x20 {
                    append(text: byte < 0x10 ? "\\u000" : "\\u001")
                    append(contentsOf: Swift.String(byte & 15, radix: 16).utf8)
                } else {
                    append(UInt8(ascii: "\\"))
                    append(byte)
                }
            }
            index = text.firstSpecialByte(from: index + 1)
        }
        append(contentsOf: text.extracting(copied..<text.count))
    }
}
