import Feed
import Foundation

/// The members of a JSON object that PostgreSQL wrote: names and values as they stand in the text. Nothing is looked at that
/// nobody asks for, so that no depth and no number in it is too much.
struct JSONMembers {
    private var values: [String: ArraySlice<UInt8>] = [:]

    init() {}

    /// Empty for anything but an object, such as `null`.
    init(_ text: ArraySlice<UInt8>) {
        var rest = text
        guard rest.popFirst() == UInt8(ascii: "{") else { return }
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[quote...]
            let name = rest.prefix(Self.length(ofValueIn: rest))
            rest = rest.dropFirst(name.count).drop { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: " ") }
            let value = rest.prefix(Self.length(ofValueIn: rest))
            values[String(decoding: name.dropFirst().dropLast(), as: UTF8.self)] = value
            rest = rest.dropFirst(value.count)
        }
    }

    /// Up to the comma, the colon or the bracket that follows a value.
    private static func length(ofValueIn text: ArraySlice<UInt8>) -> Int {
        var (depth, isInString, isEscaped) = (0, false, false)
        for (length, byte) in text.enumerated() {
            if isInString {
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return length }
                depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): if depth == 0 { return length }
            default: break
            }
        }
        return text.count
    }

    subscript(name: String) -> ArraySlice<UInt8>? { values[name] }

    /// A text; nil for anything else.
    func text(_ name: String) -> String? { value(name) as? String }

    /// With the members of another object, which count more.
    func overwritten(by other: JSONMembers) -> JSONMembers {
        var both = self
        both.values.merge(other.values) { $1 }
        return both
    }

    private func value(_ name: String) -> Any? {
        guard let value = values[name] else { return nil }
        do {
            return try JSONSerialization.jsonObject(with: Data(value), options: .fragmentsAllowed)
        } catch {
            return nil
        }
    }
}

extension Quake {
    /// Reads a row as `to_jsonb` has it, but for `extra`; nil if it is none.
    init?(row: JSONMembers) {
        do {
            try self.init { property in
                guard let bytes = row[property.column], bytes.first != UInt8(ascii: "n") else { return .null }
                let text = String(decoding: bytes, as: UTF8.self)
                switch property.kind {
                case .text: return row.text(property.column).map { .text($0) } ?? .null
                case .number: return Double(text).map { .number($0) } ?? .null
                case .integer: return Int32(text).map { .integer($0) } ?? .null
                case .flag: return .flag(text == "true")
                case .time: return Instant(String(text.dropFirst().dropLast())).map { .time($0) } ?? .null
                case .list: return row.list(property.column).map { .list($0) } ?? .null
                case .json: return .null
                }
            }
        } catch {
            return nil
        }
    }
}

extension JSONMembers {
    /// A list of texts; nil for anything else.
    fileprivate func list(_ name: String) -> [String]? { value(name) as? [String] }
}
