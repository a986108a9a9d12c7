import Feed
import QuakeStore

extension Reject {
    static var columns: [Column<Reject>] {
        [
            Column("id", .right) { "\($0.id)" },
            Column("last seen (UTC)") { $0.lastSeen.shortText },
            Column("times", .right) { "\($0.count)" },
            Column("reason") { $0.reason },
            Column("message", minimumWidth: 30, flexible: true, widest: 1000, breaking: .text) { $0.message },
            Column("run", .right, priority: 1) { "\($0.run)" },
            Column("source", priority: 2, widest: 1000) { $0.source },
            Column("feature", .right, priority: 1) { "\($0.ordinal)" },
            Column("at byte", .right, priority: 1) { "\($0.offset)" },
            Column("size", .right, priority: 2) { "\($0.size)" },
        ]
    }

    var json: JSONObject {
        [
            "id": id, "run": run, "source": source, "ordinal": ordinal, "byte_offset": offset,
            "reason": reason, "message": message, "size": size, "cut": isCut, "count": count,
            "first_seen": firstSeen, "last_seen": lastSeen,
        ]
    }
}
