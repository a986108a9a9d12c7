/// One JSON object as text. Its members are in the order in which they were appended.
struct JSONObject {
    private var members: [String] = []

    var text: String { "{\(members.joined(separator: ","))}" }

    mutating func append(_ name: String, _ value: String?) {
        append(name, json: value.map(Self.quoted) ?? "null")
    }

    mutating func append(_ name: String, _ value: (some BinaryInteger)?) {
        append(name, json: value.map { "\($0)" } ?? "null")
    }

    /// JSON has neither infinity nor NaN: both become null.
    mutating func append(_ name: String, _ value: Double?) {
        append(name, json: value.flatMap { $0.isFinite ? "\($0)" : nil } ?? "null")
    }

    mutating func append(_ name: String, _ value: Bool?) {
        append(name, json: value.map { "\($0)" } ?? "null")
    }

    mutating func append(_ name: String, _ value: [String]?) {
        append(name, json: value.map { "[\($0.map(Self.quoted).joined(separator: ","))]" } ?? "null")
    }

    /// Appends a value that is already JSON.
    mutating func append(_ name: String, json: String) {
        members.append("\(Self.quoted(name)):\(json)")
    }

    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
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
