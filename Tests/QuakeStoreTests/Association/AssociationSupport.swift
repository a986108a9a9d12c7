import Feed
import Logging
import PostgreSQL
import SampleFeed
import TestSupport

@testable import Association
@testable import QuakeStore

/// The tables of the association, and their expected content.
struct AssociatedTable {
    let connection: Connection
    var logger = Logger.quiet

    @discardableResult
    func associate(rebuilds: Bool = false) async throws -> Associator.Outcome {
        try await Associator(logger: logger).associate(rebuilds: rebuilds, on: connection)
    }

    func execute(_ script: String) async throws {
        try await connection.execute(script: script, to: "change the table")
    }

    func text(_ expression: String) async throws -> String {
        try await connection.query("select (\(unescaped: expression))::text as text", to: "ask")[0].decode(
            "text")
    }

    var token: Int {
        get async throws {
            try await connection.query("select history.current_token() as token", to: "read the token")[0]
                .decode("token")
        }
    }

    /// The earthquakes in the two tables: the present ones, or with a token, those that the history has for that token.
    func earthquakes(asOf token: Int? = nil) async throws -> [Earthquake] {
        let codes = try await connection.query(
            """
            select e.code, e.preferred, e.magnitude_from, e.agencies, m.code as member, m.partner, m.seconds, m.km, m.magnitudes,
                   m.cost, m.rule, m.is_doubtful
            from \(table("earthquake", asOf: token)) as e
            full join \(table("earthquake_member", asOf: token)) as m on m.earthquake = e.code
            order by e.code, m.code
            """, to: "read the earthquakes")
        var earthquakes: [Earthquake] = []
        for row in codes {
            let code = ExactText(try row.decode("code"))
            if earthquakes.last?.code != code {
                earthquakes.append(
                    Earthquake(
                        code: code, preferred: ExactText(try row.decode("preferred")),
                        magnitudeFrom: try row.decodeIfPresent("magnitude_from").map { ExactText($0) },
                        agencies: try row.decode("agencies"), members: []))
            }
            earthquakes[earthquakes.count - 1].members.append(
                Member(
                    code: ExactText(try row.decode("member")), partner: ExactText(try row.decode("partner")),
                    difference: Difference(
                        seconds: try row.decode("seconds"), kilometres: try row.decode("km"),
                        magnitudes: try row.decodeIfPresent("magnitudes"), cost: try row.decode("cost")),
                    rule: Rule(rawValue: try row.decode("rule")), isDoubtful: try row.decode("is_doubtful")))
        }
        return earthquakes
    }

    private func table(_ name: String, asOf token: Int?) -> Query {
        guard let token else { return "public.\(unescaped: name)" }
        return """
            (with undone as (
                select key, history.overwritten(before order by token desc, ordinal desc) as before,
                       (array_agg(operation order by token desc, ordinal desc))[count(*)] as operation
                from history.since(\(token), \(name)) group by key)
            select t.* from public.\(unescaped: name) as t where not exists (select from undone where key = t.code)
            union all
            select past.*
            from undone left join public.\(unescaped: name) as t on t.code = undone.key
            cross join lateral jsonb_populate_record(
                null::public.\(unescaped: name), coalesce(to_jsonb(t.*), '{}') || undone.before) as past
            where undone.operation <> 'insert')
            """
    }

    /// The earthquakes that result if all rows are grouped at once.
    func expected(_ parameters: Parameters = .shipped) async throws -> [Earthquake] {
        let association = Association(parameters, overrides: try await Overrides.all(on: connection))
        return association.earthquakes(of: try await solutions()).earthquakes.filter { $0.members.count > 1 }
    }

    func solutions() async throws -> [Solution] {
        let all = Instant.possible.lowerBound.milliseconds...Instant.possible.upperBound.milliseconds
        return try await Neighbourhood.Request.times([all]).rows(on: connection)
    }

    /// The codes of each earthquake's rows.
    func groups() async throws -> Set<Set<ExactText>> {
        Set(try await earthquakes().map { Set($0.members.map(\.code)) })
    }

    /// Each change of a table as operation, key and reason, in order.
    func reasons(of table: String) async throws -> [String] {
        try await connection.query(
            """
            select operation || ' ' || key || ': ' || reason as text
            from history.since(0, \(table)) order by token, ordinal
            """, to: "read the reasons"
        ).map { try $0.decode("text") }
    }
}

extension TestServer {
    func withAssociatedTable<Result>(_ body: (AssociatedTable) async throws -> Result) async throws -> Result
    {
        try await withDatabase { database in
            try await database.withConnection { try await body(AssociatedTable(connection: $0)) }
        }
    }
}

/// A row to write, with the columns that association reads.
struct ReportedEvent: Hashable {
    var code: String
    var net: String
    /// Seconds since the beginning of 2020.
    var seconds: Double
    var latitude = 36.0
    var longitude = -117.0
    var depth: Double? = 10
    var magnitude: Double? = 4
    var magnitudeType = "ml"
    var status = "automatic"
    var updated = 0
    /// Seconds since the beginning of 2020.
    var firstSeen = 0
    var ids: [String] = []
    var auth: String?

    init(_ code: String, _ net: String? = nil, seconds: Double = 0) {
        (self.code, self.seconds) = (code, seconds)
        self.net = net ?? String(code.prefix { $0 != ":" })
    }

    /// Inserts the row, or updates it to these values.
    var statement: String {
        func number(_ value: Double?) -> String { value.map { "\($0)" } ?? "null" }
        func time(_ seconds: Double) -> String {
            "timestamptz '2020-01-01+00' + interval '1 millisecond' * \(Int((seconds * 1000).rounded()))"
        }
        let ids = ids.isEmpty ? "null" : "array[\(ids.map { "'\($0)'" }.joined(separator: ","))]"
        let extra = auth.map { "jsonb_build_object('auth', '\($0)')" } ?? "null"
        return """
            insert into quake (code, net, net_code, time, latitude, longitude, depth, magnitude, magnitude_type, status, updated,
                               imported_at, ids, extra)
            values ('\(code)', '\(net)', '', \(time(seconds)), \(latitude), \(longitude), \(number(depth)), \(number(magnitude)),
                    '\(magnitudeType)', '\(status)', \(time(Double(updated))), \(time(Double(firstSeen))), \(ids), \(extra))
            on conflict (code) do update set
                net = excluded.net, time = excluded.time, latitude = excluded.latitude, longitude = excluded.longitude,
                depth = excluded.depth, magnitude = excluded.magnitude, magnitude_type = excluded.magnitude_type,
                status = excluded.status, updated = excluded.updated, imported_at = excluded.imported_at, ids = excluded.ids,
                extra = excluded.extra;
            """
    }
}

/// Agencies that report, revise and withdraw the earthquakes of a dense sequence, and a person who adds overrides.
struct ReportedSequence {
    private static let networks = ["us", "ci", "emsc", "gfz", "ingv"]
    private static let places = [(36.0, -117.0), (36.4, -117.3), (-17, 179.9), (-17.1, -179.9)]
    private(set) var random: SplitMix64
    private(set) var events: [String: ReportedEvent] = [:]
    private var number = 0

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func normal() -> Double {
        // The sum is close enough to a normal distribution.
        (0..<12).reduce(-6) { sum, _ in sum + random.unit() }
    }

    /// The statements of one transaction.
    mutating func step() -> String {
        switch random.below(10) {
        case 0...3: report()
        case 4...6: revise()
        case 7: withdraw()
        case 8: moveID()
        default: random.chance(1, in: 2) ? say() : felt()
        }
    }

    private mutating func report() -> String {
        let (latitude, longitude) = Self.places[random.below(4)]
        let time = Double(random.below(400))
        let magnitude = 2 + 3 * random.unit()
        var statements: [String] = []
        for net in Self.networks where random.chance(3, in: 5) {
            number += 1
            var event = ReportedEvent(
                ["us", "ci"].contains(net) ? "\(net)\(number)" : "\(net):\(number)", net,
                seconds: time + 2 * normal())
            event.latitude = latitude + 0.1 * normal()
            event.longitude = longitude + 0.05 * normal()
            event.depth = random.chance(1, in: 5) ? nil : random.chance(1, in: 2) ? 10 : 100 * random.unit()
            event.magnitude = random.chance(1, in: 10) ? nil : magnitude + 0.2 * normal()
            event.magnitudeType = random.chance(1, in: 3) ? "mww" : "ml"
            event.status = random.chance(1, in: 3) ? "reviewed" : "automatic"
            event.firstSeen = random.below(50)
            event.ids = net == "us" ? [event.code, "ci\(random.below(number + 1))"] : []
            if net == "emsc", random.chance(1, in: 2),
                let other = events.values.filter({ $0.net == "gfz" }).min(by: { $0.code < $1.code })
            {
                (event.seconds, event.latitude, event.longitude) = (
                    other.seconds, other.latitude, other.longitude
                )
                (event.depth, event.magnitude, event.auth) = (other.depth, other.magnitude, "GFZ")
            }
            statements.append(put(event))
        }
        return statements.joined()
    }

    private mutating func put(_ event: ReportedEvent) -> String {
        events[event.code] = event
        return event.statement
    }

    private mutating func one() -> ReportedEvent? {
        let codes = events.keys.sorted()
        return codes.isEmpty ? nil : events[codes[random.below(codes.count)]]
    }

    private mutating func revise() -> String {
        guard var event = one() else { return "" }
        event.updated += 1
        if random.chance(1, in: 3) {
            (event.latitude, event.longitude) = Self.places[random.below(4)]
            event.seconds += Double(random.below(120)) - 60
        } else {
            event.seconds += 3 * normal()
            event.latitude += 0.1 * normal()
        }
        if random.chance(1, in: 4) { event.status = "reviewed" }
        if random.chance(1, in: 4) { event.magnitude = event.magnitude.map { $0 + normal() } }
        return put(event)
    }

    private mutating func withdraw() -> String {
        guard let event = one() else { return "" }
        events[event.code] = nil
        return "delete from quake where code = '\(event.code)';"
    }

    /// ComCat prefers another network's solution, so the event gets another code.
    private mutating func moveID() -> String {
        guard var event = one(), event.net == "us" || event.net == "ci" else { return "" }
        let old = event.code
        events[old] = nil
        number += 1
        event.net = event.net == "us" ? "ci" : "us"
        event.code = "\(event.net)\(number)"
        event.ids = [old, event.code]
        return
            "set local history.reason = 'superseded by \(event.code)'; delete from quake where code = '\(old)';"
            + put(event)
    }

    private mutating func felt() -> String {
        one().map { "update quake set felt = coalesce(felt, 0) + 1 where code = '\($0.code)';" } ?? ""
    }

    private mutating func say() -> String {
        guard let a = one(), let b = one(), a.code != b.code else { return "" }
        return switch random.below(4) {
        case 0:
            "delete from association_override where a = '\(a.code)' or b = '\(a.code)' or verdict = 'preferred';"
        case 1:
            "insert into association_override (a, b, verdict) values ('\(a.code)', '\(b.code)', 'same') on conflict do nothing;"
        case 2:
            "insert into association_override (a, b, verdict) values ('\(a.code)', '\(b.code)', 'different') on conflict do nothing;"
        default:
            "insert into association_override (a, verdict) values ('\(a.code)', 'preferred') on conflict do nothing;"
        }
    }
}
