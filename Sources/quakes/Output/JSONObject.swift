import Feed

/// One JSON object. Its members are in the order in which they were written or appended.
struct JSONObject: ExpressibleByDictionaryLiteral, JSONConvertible {
    private var members: [String] = []

    init(dictionaryLiteral members: (String, (any JSONConvertible)?)...) {
        for (name, value) in members { append(name, value) }
    }

    mutating func append(_ name: String, _ value: (any JSONConvertible)?) {
        members.append("\(name.jsonText):\(value?.jsonText ?? "null")")
    }

    var jsonText: String { "{\(members.joined(separator: ","))}" }
}

protocol JSONConvertible {
    var jsonText: String { get }
}

struct RawJSON: JSONConvertible {
    let jsonText: String

    init(_ text: String) { jsonText = text }
}

extension String: JSONConvertible {
    var jsonText: String {
        var result = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case "\u{0}"..<"\u{20}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Double: JSONConvertible {
    /// JSON has neither infinity nor NaN: both become null.
    var jsonText: String { isFinite ? "\(self)" : "null" }
}

extension Int: JSONConvertible {
    var jsonText: String { "\(self)" }
}

extension Bool: JSONConvertible {
    var jsonText: String { "\(self)" }
}

extension Instant: JSONConvertible {
    var jsonText: String { description.jsonText }
}

extension Array: JSONConvertible where Element: JSONConvertible {
    var jsonText: String { "[\(map(\.jsonText).joined(separator: ","))]" }
}
