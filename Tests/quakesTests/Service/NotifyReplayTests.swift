import Foundation
import Glibc
import PostgreSQL
import SampleFeed
import Subprocess
import TestSupport
import Testing

/// Real hours, told by a notifier that is killed. THOROUGH=1 plays all 120 and kills 200 times.
@Suite("A notifier that is killed", .needsRealFeeds)
struct NotifyReplayTests {
    private let server = TestServer.shared

    @Test(
        "It tells what an oracle tells, each message under one id, whenever it is killed and whatever it has lost"
    )
    func replay() async throws {
        let steps = rounds(24, of: 120).count
        let kills = rounds(20, of: 200).count
        var random = seededRandom()
        let hours = try await Hour.all(steps)
        try await withFolder { folder in
            let log = folder.appending(path: "log").path
            let environment = ["LOG": log]
            try await PythonReceiver.run("webhook.py", ["200", "..."], environment: environment) { desk in
                let rules = folder.appending(path: "rules.yaml").path
                try Data(
                    """
                    receivers: {desk: {webhook: "http://127.0.0.1:\(desk.port)/"}}
                    rules: {all: {magnitude: 3, max_age: 30d, to: desk}}
                    """.utf8
                ).write(to: URL(filePath: rules))
                try await server.withDatabase { database in
                    let quakes = QuakesCommand(["DATABASE_URL": database.url])
                    func notify() async throws {
                        let outcome = try await quakes.run("notify", "--once", rules)
                        #expect(outcome.status == 0, "\(outcome.errors)")
                    }
                    try await database.setNow(hours[0].generated - 3_600_000)
                    try await notify()
                    var oracle = Oracle()
                    for (number, hour) in hours.enumerated() {
                        let token = try await database.token()
                        try await database.setNow(hour.generated)
                        try await database.importDocument(hour.document)
                        // As if it had been committed then.
                        try await database.query(
                            "update history.transaction set committed_at = notify.now() where token > \(token)"
                        )
                        try await oracle.take(database, after: token)
                        // Once, its position is lost.
                        if number == steps / 2 {
                            try await database.query("update notify.state set nonce = '00000000'")
                        }
                        for _ in 0..<(kills * (number + 1) / steps - kills * number / steps) {
                            let delay = Duration.milliseconds(Int.random(in: 0...250, using: &random))
                            _ = try await quakes.run(["notify", "--once", rules]) { process in
                                try await Task.sleep(for: delay)
                                kill(process, SIGKILL)
                            }
                        }
                        try await notify()
                        // Digests are due.
                        try await database.setNow(hour.generated + 600_000)
                        try await notify()
                    }
                    let told = try Told(log)
                    #expect(told.reports.sorted() == oracle.told.sorted())
                    #expect(oracle.told.count > steps)
                    let kept = try await database.query(
                        "select count(*) as count, count(distinct message_id) as ids from notify.outbox")[0]
                    #expect(try kept.decode("count") == told.ids && kept.decode("ids") == told.ids)
                }
            }
        }
    }

    /// What the receiver got, if it keeps the ids that it has seen.
    private struct Told {
        /// `kind code`, each report once.
        private(set) var reports: [String] = []
        private(set) var ids = 0

        init(_ path: String) throws {
            var bodies: [String: String] = [:]
            for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
                let request = try #require(
                    try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                let id = try #require((request["headers"] as? [String: String])?["webhook-id"])
                let body = try #require(request["body"] as? String)
                if let known = bodies[id] {
                    #expect(known == body, "\(id)")
                    continue
                }
                bodies[id] = body
                let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
                let message = try #require(object?["data"] as? [String: Any])
                #expect(message["omitted"] as? Int == 0)
                for report in try #require(message["earthquakes"] as? [[String: Any]]) {
                    let kind = try #require(report["kind"] as? String)
                    reports.append("\(kind) \(try #require(report["code"] as? String))")
                }
            }
            ids = bodies.count
        }
    }

    /// What has to be told, from the states of the table: what is compared is what was told last.
    private struct Oracle {
        private struct Row: Equatable {
            let magnitude: Double?
            let (latitude, longitude): (Double, Double)
            let ids: [String]

            var isLarge: Bool { magnitude.map { $0 >= 3 } ?? false }

            func differs(from other: Row) -> Bool {
                if abs(latitude - other.latitude) > 0.5 + 1e-9 { return true }
                let across = abs(longitude - other.longitude)
                if min(across, 360 - across) > 0.5 + 1e-9 { return true }
                guard let magnitude, let before = other.magnitude else { return false }
                return abs(magnitude - before) > 0.4 + 1e-9
            }

            static func == (left: Row, right: Row) -> Bool {
                left.magnitude == right.magnitude && left.latitude == right.latitude
                    && left.longitude == right.longitude && left.ids == right.ids
            }
        }

        private(set) var told: [String] = []
        private var rows: [String: Row] = [:]
        private var last: [String: (row: Row, kind: String)] = [:]

        mutating func take(_ database: TestDatabase, after token: Int) async throws {
            let before = rows
            rows = [:]
            for row in try await database.query(
                "select code, magnitude, latitude, longitude, coalesce(ids, '{}') as ids from quake")
            {
                rows[try row.decode("code")] = Row(
                    magnitude: try row.decodeIfPresent("magnitude"), latitude: try row.decode("latitude"),
                    longitude: try row.decode("longitude"), ids: try row.decode("ids"))
            }
            let renamed = try await database.query(
                """
                select key, substring(reason from '^superseded by (.+)$') as other
                from history.changes(\(token), 'quake') where operation = 'delete' and reason ~ '^superseded by'
                """)
            let others = try Dictionary(
                renamed.map {
                    (try $0.decode("key", as: String.self), try $0.decode("other", as: String.self))
                },
                uniquingKeysWith: { $1 })
            // The largest first: the order in which names are handed on.
            let changed = Set(before.keys).union(rows.keys).filter { before[$0] != rows[$0] }.sorted {
                let (one, two) = ((rows[$0] ?? before[$0])?.magnitude, (rows[$1] ?? before[$1])?.magnitude)
                return (-(one ?? -.infinity), $0) < (-(two ?? -.infinity), $1)
            }
            for code in changed {
                guard let row = rows[code] else {
                    if let other = others[code] {
                        if let known = last.removeValue(forKey: code), last[other] == nil {
                            last[other] = known
                        }
                    } else if let known = last[code], known.kind != "withdrawn", known.kind != "no_longer" {
                        tell("withdrawn", code, known.row)
                    }
                    continue
                }
                if last[code] == nil, let alias = row.ids.first(where: { last[$0] != nil }) {
                    last[code] = last.removeValue(forKey: alias)
                }
                decide(code, row, before: before[code])
            }
        }

        private mutating func decide(_ code: String, _ row: Row, before: Row?) {
            guard let known = last[code] else {
                if row.isLarge, before?.isLarge != true { tell(before == nil ? "new" : "risen", code, row) }
                return
            }
            let stands = known.kind != "withdrawn" && known.kind != "no_longer"
            switch (stands, row.isLarge) {
            case (true, true): if row.differs(from: known.row) { tell("corrected", code, row) }
            case (true, false): if row.magnitude != nil { tell("no_longer", code, row) }
            case (false, true):
                if known.kind == "withdrawn" || row.differs(from: known.row) { tell("risen", code, row) }
            case (false, false): break
            }
        }

        private mutating func tell(_ kind: String, _ code: String, _ row: Row) {
            told.append("\(kind) \(code)")
            last[code] = (row, kind)
        }
    }

    /// A snapshot of the day's feed, moved so that the last hour is the present one.
    private struct Hour {
        let document: String
        /// Milliseconds since 1970.
        let generated: Int

        static func all(_ count: Int) async throws -> [Hour] {
            var objects: [[String: Any]] = []
            for number in 0..<count {
                let name = "replay-all_day/\("00\(number)".suffix(3)).geojson.gz"
                let result = try await Subprocess.run(
                    .name("gzip"), arguments: ["-dc", RealFeeds.path(name)],
                    output: .bytes(limit: 16 << 20), error: .discarded)
                objects.append(
                    try #require(
                        try JSONSerialization.jsonObject(with: Data(result.standardOutput)) as? [String: Any])
                )
            }
            func generated(_ object: [String: Any]) throws -> Int {
                try #require((object["metadata"] as? [String: Any])?["generated"] as? Int)
            }
            let shift =
                Int(Date().timeIntervalSince1970 * 1000) - 60_000 - (try generated(objects[count - 1]))
            return try objects.map { object in
                var object = object
                let made = try generated(object) + shift
                var metadata = try #require(object["metadata"] as? [String: Any])
                metadata["generated"] = made
                object["metadata"] = metadata
                object["features"] = try #require(object["features"] as? [[String: Any]]).map { feature in
                    var feature = feature
                    var properties = try #require(feature["properties"] as? [String: Any])
                    for name in ["time", "updated"] {
                        properties[name] = try #require(properties[name] as? Int) + shift
                    }
                    feature["properties"] = properties
                    return feature
                }
                let text = try JSONSerialization.data(withJSONObject: object)
                return Hour(document: String(decoding: text, as: UTF8.self), generated: made)
            }
        }
    }
}

extension TestDatabase {
    /// From now on, what is told is decided at this moment, in milliseconds since 1970.
    fileprivate func setNow(_ milliseconds: Int) async throws {
        try await query(
            """
            create or replace function notify.now() returns timestamptz language sql volatile
            return to_timestamp(\(unescaped: "\(milliseconds)") / 1000.0)
            """)
    }

    fileprivate func token() async throws -> Int {
        try await query("select history.current_token() as token")[0].decode("token")
    }
}
