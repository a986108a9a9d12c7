import Feed
import QuakeStore

extension Change {
    static var columns: [Column<Change>] {
        columns(besides: Column("code") { $0.code })
    }

    /// - Parameter code: the column for the code; nil if all changes are of one event.
    static func columns(besides code: Column<Change>?) -> [Column<Change>] {
        [
            Column("time (UTC)") { $0.committedAt.instant.shortText },
            Column("token", .right) { "\($0.token)" },
            Column("author", priority: 1) { $0.author },
            Column("context", priority: 2) { $0.context ?? "" },
        ] + (code.map { [$0] } ?? []) + [
            Column("change", minimumWidth: 30, flexible: true, widest: 500, breaking: .text) {
                $0.story
            } style: { change in
                // Only an insertion or a deletion has a magnitude here. An update lists its magnitude among its members.
                let style = TextStyle(magnitude: change.magnitude)
                return style == .dim ? nil : style
            }
        ]
    }

    /// Such as `inserted M 4.3, 12 km SSW of Ridgecrest, CA`, or `magnitude 4.1 → 4.3, status automatic → reviewed`.
    private var story: String {
        let because = reason.map { " (\($0))" } ?? ""
        switch operation {
        case .insert: return "inserted \(event)" + because
        case .delete: return "deleted \(event)" + because
        case .update: return telling.map(\.story).joined(separator: ", ") + because
        }
    }

    private var event: String {
        let size = magnitude.map { "M \(rounded($0, 1))" } ?? "M ?"
        return [size, place].compactMap { $0 }.joined(separator: ", ")
    }

    /// The members to show. A newer `updated` is left out, unless nothing else changed. A title is left out if the magnitude or
    /// the place changed, because the title consists of these.
    private var telling: [Member] {
        let columns = Set(members.map(\.column))
        let isTitleClear = !columns.isDisjoint(with: ["magnitude", "place"])
        let telling = members.filter { $0.column != "updated" && !($0.column == "title" && isTitleClear) }
        return telling.isEmpty ? members : telling
    }

    var json: JSONObject {
        [
            "token": token, "committed_at": committedAt.description, "author": author, "context": context,
            "ordinal": ordinal, "code": code, "operation": operation.rawValue, "reason": reason,
            "before": before.map(RawJSON.init), "after": after.map(RawJSON.init),
        ]
    }
}
