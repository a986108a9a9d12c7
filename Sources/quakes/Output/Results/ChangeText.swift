import QuakeStore

extension Change {
    var cells: [String] {
        [committedAt.shortText, "\(token)", author, context ?? "", code, story]
    }

    /// Such as `magnitude 4.1 → 4.3, status automatic → reviewed`.
    private var story: String {
        let because = reason.map { " (\($0))" } ?? ""
        switch operation {
        case .insert: return "inserted" + because
        case .delete: return "deleted" + because
        case .update:
            // A newer `updated` goes without saying, unless nothing else changed.
            let telling = members.filter { $0.column != "updated" }
            return (telling.isEmpty ? members : telling)
                .map { "\($0.column) \(Self.plain($0.old)) → \(Self.plain($0.new))" }.joined(separator: ", ")
                + because
        }
    }

    /// A JSON value as people write it: a string has no quotes, and null is a dash.
    private static func plain(_ json: String) -> String {
        if json == "null" { return "–" }
        guard json.hasPrefix("\""), json.count >= 2 else { return json }
        let text = String(json.dropFirst().dropLast())
        return text.replacing("\\\"", with: "\"").replacing("\\\\", with: "\\")
    }

    var json: String {
        var object = JSONObject()
        object.append("token", token)
        object.append("committed_at", committedAt.description)
        object.append("author", author)
        object.append("context", context)
        object.append("ordinal", ordinal)
        object.append("code", code)
        object.append("operation", operation.rawValue)
        object.append("reason", reason)
        object.append("before", json: before ?? "null")
        object.append("after", json: after ?? "null")
        return object.text
    }
}
