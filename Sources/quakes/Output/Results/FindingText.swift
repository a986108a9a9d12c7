import Feed
import QuakeStore

extension Verification.Finding {
    static var columns: [Column<Self>] {
        [
            Column("finding") { $0.kind.rawValue },
            Column("code", minimumWidth: 10, flexible: true) { $0.code },
            Column("time (UTC)") { $0.time.shortText },
            Column("revised here (UTC)") { $0.here?.shortText ?? "" },
            Column("revised there (UTC)") { $0.there?.shortText ?? "" },
        ]
    }

    static let names = ["finding", "code", "time", "here", "there"]

    var fields: [CSV.Field] {
        [
            .value(kind.rawValue), .text(code), .value(time.description), .value(here?.description),
            .value(there?.description),
        ]
    }

    var json: JSONObject {
        ["finding": kind.rawValue, "code": code, "time": time, "here": here, "there": there]
    }
}
