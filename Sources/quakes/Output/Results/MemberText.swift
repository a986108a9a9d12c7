import Feed
import Foundation
import QuakeStore

extension Change.Member {
    /// Such as `magnitude 4.1 → 4.3` or `types +shakemap −dyfi`.
    var story: String {
        let (old, new) = (JSONValue(old), JSONValue(new))
        if case .list(let gone) = old, case .list(let come) = new {
            func parts(of one: [String], notIn other: [String]) -> [String] {
                let other = Set(other.map { ExactText($0) })
                return one.filter { !other.contains(ExactText($0)) }
            }
            let parts =
                parts(of: come, notIn: gone).map { "+\($0)" } + parts(of: gone, notIn: come).map { "−\($0)" }
            return "\(column) \(parts.isEmpty ? "in another order" : parts.joined(separator: " "))"
        }
        let short = (old.text(of: kind, exactly: false), new.text(of: kind, exactly: false))
        // If the short texts are the same, the exact values are shown.
        if short.0 != short.1 { return "\(column) \(short.0) → \(short.1)" }
        return "\(column) \(old.text(of: kind, exactly: true)) → \(new.text(of: kind, exactly: true))"
    }

    /// nil for a column that this version does not know.
    private var kind: Property.Kind? { Property.allCases.first { $0.column == column }?.kind }
}

/// A value as the history keeps it.
private enum JSONValue {
    case null
    case text(String)
    case number(Double)
    case list([String])
    /// Any other JSON, unchanged.
    case json(String)

    init(_ json: String) {
        // A text that can't be read is shown unchanged.
        let value = try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
        switch value {
        case is NSNull: self = .null
        case let text as String: self = .text(text)
        case let list as [String]: self = .list(list)
        case let number as NSNumber where json != "true" && json != "false":
            self = .number(number.doubleValue)
        default: self = .json(json)
        }
    }

    func text(of kind: Property.Kind?, exactly: Bool) -> String {
        switch self {
        case .null: return "–"
        case .json(let json): return json
        case .list(let list): return list.joined(separator: " ")
        case .number(let number):
            let whole = number == number.rounded() && abs(number) < 1e15
            return whole ? "\(Int64(number))" : exactly ? "\(number)" : shortened(number: "\(number)")
        case .text(let text):
            guard kind == .time, let time = Instant(text) else { return text }
            return exactly ? time.description : time.shortText
        }
    }
}
