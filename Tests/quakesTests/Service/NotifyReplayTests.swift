import Foundation
import Glibc
import PostgreSQL
import SampleFeed
import Subprocess
import TestSupport
import Testing

/// Plays real hours of the USGS's feed to a notifier that is killed. THOROUGH=1 plays all 120 hours and kills 200 times.
@Suite("A notifier that is killed", .needsRealFeeds)
struct NotifyReplayTests {
    private let server = TestServer.shared

    enum Course: CaseIterable, Sendable {
        case inOrder
        /// The hours are imported in a random order.
        case shuffled
        /// A backup is made after half of the hours. After two thirds, the database is replaced by this backup, which then gets
        /// the second half of the hours.
        case restored
    }

    @Test(
        "After kills and an invalid position, the reports are those of an oracle, and each message keeps its id",
        arguments: Course.allCases)
    func replay(_ course: Course) async throws {
        var random = seededRandom()
        var hours = try await Hour.all(rounds(12, of: 120).count)
        let end = hours[hours.count - 1].generated
        if course == .shuffled { hours.shuffle(using: &random) }
        try await withFolder { folder in
            let log = folder.appending(path: "log").path
            let environment = ["LOG": log]
            try await PythonReceiver.run("webhook.py", ["200", "..."], environment: environment) { desk in
                let rules = folder.appending(path: "rules.yaml").path
                try Data(
                    """
                    receivers: {desk: {webhook: "http://127.0.0.1:\(desk.port)/"}}
                    rules: {all: {magnitude: 2.5, max_age: 30d, to: desk}}
                    """.utf8
                ).write(to: URL(filePath: rules))
                try await server.withDatabase { database in
                    var replay = Replay(database, rules, hours, random)
                    if course == .shuffled { replay.now = end }
                    try await replay.begin()
                    switch course {
                    case .inOrder, .shuffled: try await replay.play(hours.indices)
                    case .restored:
                        let backup = hours.count / 2
                        try await replay.play(0..<backup)
                        try await waitUntil { try await database.otherSessions().isEmpty }
                        replay = try await server.withCopy(of: database) { copy in
                            var restored = replay
                            try await replay.play(backup..<(hours.count * 2 / 3))
                            restored.database = copy
                            try await restored.play(backup..<hours.count)
                            return restored
                        }
                    }
                    let told = try Told(log)
                    #expect(told.reports.sorted() == replay.oracle.told.sorted())
                    #expect(replay.oracle.told.count > hours.count)
                    let kinds = Dictionary(grouping: told.reports) { $0.prefix { $0 != " " } }
                    if hours.count == 120, course != .shuffled {
                        #expect(
                            kinds.mapValues(\.count)
                                == ["new": 250, "risen": 1, "no_longer": 2, "corrected": 2, "withdrawn": 4])
                    }
                    if course == .restored { return }
                    let kept = try await database.query(
                        "select count(*) as count, count(distinct message ->> 'id') as ids from notify.outbox"
                    )[0]
                    #expect(try kept.decode("count") == told.ids && kept.decode("ids") == told.ids)
                }
            }
        }
    }

    /// Imports hours one after the other, lets the notifier report them, and kills the notifier again and again.
    private struct Replay {
        var database: TestDatabase
        let rules: String
        let hours: [Hour]
        var random: SplitMix64
        /// The notifier's time when the replay begins, in milliseconds since 1970. If it is nil, the notifier's time is the time
        /// at which each hour's document was generated.
        var now: Int?
        private(set) var oracle = Oracle()

        init(_ database: TestDatabase, _ rules: String, _ hours: [Hour], _ random: SplitMix64) {
            (self.database, self.rules, self.hours, self.random) = (database, rules, hours, random)
        }

        private var quakes: QuakesCommand { QuakesCommand(["DATABASE_URL": database.url]) }

        private func notify() async throws {
            let outcome = try await quakes.run("notify", "--once", rules)
            #expect(outcome.status == 0, "\(outcome.errors)")
        }

        /// Starts the notifier for the first time. Earthquakes that the table already has are not reported.
        func begin() async throws {
            try await database.setNow((now ?? hours[0].generated) - 3_600_000)
            try await notify()
        }

        mutating func play(_ stretch: Range<Int>) async throws {
            let kills = rounds(10, of: 200).count
            for number in stretch {
                let now = now.map { $0 + number * 600_000 } ?? hours[number].generated
                let token = try await database.token()
                try await database.setNow(now)
                try await database.importDocument(hours[number].document)
                // Change the times of the commits to the notifier's time.
                try await database.query(
                    "update history.transaction set committed_at = notify.now() where token > \(token)")
                try await oracle.take(database, after: token)
                // In the middle of the replay, make the notifier's position invalid.
                if number == hours.count / 2 {
                    try await database.query(
                        "update notify.state set position = regexp_replace(position, '_[0-9a-f]{8}_', '_00000000_')"
                    )
                }
                for _ in 0..<(kills * (number + 1) / hours.count - kills * number / hours.count) {
                    let delay = Duration.milliseconds(Int.random(in: 0...250, using: &random))
                    _ = try await quakes.run(["notify", "--once", rules]) { process in
                        try await Task.sleep(for: delay)
                        kill(process, SIGKILL)
                    }
                }
                try await notify()
                // Ten minutes later, digests are due.
                try await database.setNow(now + 600_000)
                try await notify()
            }
            // A delivery that was killed is repeated only after 5 seconds.
            try await database.query(
                "update notify.outbox set next_attempt_at = clock_timestamp() where next_attempt_at is not null"
            )
            try await notify()
        }
    }

    /// The messages that the receiver got. A message whose id it has already seen is not counted again.
    private struct Told {
        /// The reports in these messages, as `kind code`.
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

    /// Computes the expected reports from successive states of the table, by comparing each row with its last report.
    private struct Oracle {
        private struct Row: Equatable {
            let magnitude: Double?
            let (latitude, longitude): (Double, Double)
            let ids: [String]

            var isLarge: Bool { magnitude.map { $0 >= 2.5 } ?? false }

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
            // The largest magnitude first, because the notifier also renames earthquakes in this order.
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

    /// A snapshot of the day feed. All times are shifted so that the last snapshot was generated a minute ago.
    private struct Hour {
        let document: String
        /// The time at which the document was generated, in milliseconds since 1970.
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
    /// Stops the notifier's clock at `milliseconds` since 1970.
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
