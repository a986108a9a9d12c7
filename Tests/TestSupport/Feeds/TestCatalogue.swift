import Feed
import Foundation
import Synchronization

/// A stand-in for the USGS: a catalogue, its summary feeds, and an event service that behaves like the real one. A test sets the
/// catalogue's clock, and adds or deletes events.
///
/// - Without `starttime`, a query returns only events of the last 30 days.
/// - `includedeleted=true` always gives status 504; `includedeleted=only` works. A deleted event has no time, magnitude or type,
///   so a query with `eventtype` never finds it. The records of some deletions do not name the event.
/// - If more than `limit` events match a request that has no parameter `limit`, the status is `tooMany`.
public final class TestCatalogue: Sendable {
    public struct Event: Sendable {
        public var code: String
        /// Milliseconds since 1970.
        public var time: Int
        public var updated: Int
        public var ids: [String]
        public var magnitude: Double
        public var (latitude, longitude) = (2.0, 1.0)
        public var place = "p"
        public var type = "earthquake"

        public init(
            _ code: String, time: Int, updated: Int, ids: [String]? = nil, magnitude: Double = 1
        ) {
            (self.code, self.time, self.updated, self.magnitude) = (code, time, updated, magnitude)
            self.ids = ids ?? [code]
        }
    }

    public struct Gone: Sendable {
        public var code: String
        public var at: Int
        /// Whether the service's record of the deletion contains the event's code.
        public var isNamed: Bool

        public init(code: String, at: Int, isNamed: Bool = true) {
            (self.code, self.at, self.isNamed) = (code, at, isNamed)
        }
    }

    public struct State: Sendable {
        /// The time of the catalogue's clock, in milliseconds since 1970.
        public var now: Int
        public var events: [String: Event] = [:]
        public var gone: [Gone] = []
        /// GeoJSON features to serve instead of `Event.json`, by the code of the event.
        public var features: [String: String] = [:]

        public mutating func delete(_ code: String, isNamed: Bool = true) {
            if events.removeValue(forKey: code) != nil {
                gone.append(Gone(code: code, at: now, isNamed: isNamed))
            }
        }

        public mutating func add(_ event: Event) {
            events[event.code] = event
            gone.removeAll { $0.code == event.code }
        }
    }

    /// The host name in the URLs of the feeds and the events.
    public static let host = "quake.example.gov"
    /// The URL of the event service. A client reaches it by using the test server as a proxy.
    public static let service = "http://\(host)/fdsnws/event/1/"

    public let limit: Int
    public let tooMany: TestStatus
    /// What the service supports: the method `count`, the parameters `updatedafter` and `includedeleted`, and formats.
    public let knows: Set<Skill>
    private let state: Mutex<State>

    public enum Skill: CaseIterable, Sendable {
        case count, updatedAfter, includeDeleted, geojson, text
        /// `format=json` is GeoJSON in EMSC's form.
        case emsc
    }

    public init(
        now: Int, limit: Int = 20_000, tooMany: TestStatus = .badRequest,
        knows: Set<Skill> = Set(Skill.allCases)
    ) {
        self.limit = limit
        self.tooMany = tooMany
        self.knows = knows
        state = Mutex(State(now: now))
    }

    public func change<Result: Sendable>(_ body: (inout sending State) -> sending Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// The expected content of the imported table: the revision time of each event.
    public var revised: [String: Int] { state.withLock { $0.events.mapValues(\.updated) } }

    // MARK: Answers

    public func answer(_ request: TestRequest) -> TestFeedServer.Answer {
        let url = URLComponents(string: request.uri)
        let values = Dictionary(
            (url?.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { $1 })
        let path = url?.path ?? ""
        return state.withLock { state in
            if let feed = path.wholeMatch(of: #/.*/summary/(all_[a-z]+)\.geojson/#) {
                return summary(String(feed.1), state)
            }
            return event(String(path.split(separator: "/").last ?? ""), values, state)
        }
    }

    private func summary(_ name: String, _ state: State) -> TestFeedServer.Answer {
        let hours = ["all_hour": 1, "all_day": 24, "all_week": 168, "all_month": 720][name] ?? 0
        let events = state.events.values.filter { $0.time >= state.now - hours * 3_600_000 }
        return .whole(
            .ok, document(events.sorted { $0.time > $1.time }.map(\.json), "summary/\(name).geojson", state))
    }

    private func event(
        _ method: String, _ values: [String: String], _ state: State
    ) -> TestFeedServer.Answer {
        func refused(_ text: String) -> TestFeedServer.Answer { .whole(.badRequest, Array(text.utf8)) }
        if method == "count", !knows.contains(.count) { return .whole(.notFound, []) }
        if values["updatedafter"] != nil, !knows.contains(.updatedAfter) {
            return refused("unknown updatedafter")
        }
        if values["format"] == "geojson", !knows.contains(.geojson) { return refused("unknown format") }
        let deleted = values["includedeleted"]
        if deleted != nil, !knows.contains(.includeDeleted) { return refused("unknown includedeleted") }
        if deleted == "true" { return .whole(.gatewayTimeout, []) }
        let rows = deleted == "only" ? deletions(values, state) : events(values, state)
        if method == "count" { return .whole(.ok, Array("\(rows.count)".utf8)) }
        let wanted = values["limit"].flatMap { Int($0) }
        if let wanted, wanted > limit { return refused("\(wanted) exceeds the limit of \(limit)") }
        if wanted == nil, rows.count > limit { return .whole(tooMany, []) }
        if values["format"] == "json" {
            guard knows.contains(.emsc) else { return refused("unknown format") }
            let features = found(values, state).map(\.emsc)
            return .whole(
                .ok,
                Array(
                    #"{"type":"FeatureCollection","metadata":{"count":\#(features.count)},"features":[\#(features.joined(separator: ","))]}"#
                        .utf8))
        }
        if values["format"] == "text" {
            guard knows.contains(.text) else { return refused("unknown format") }
            let lines = found(values, state).map(\.line)
            return lines.isEmpty
                ? .whole(.noContent, []) : .whole(.ok, Array((Self.columns + lines.joined()).utf8))
        }
        let page = rows.dropFirst((values["offset"].flatMap { Int($0) } ?? 1) - 1).prefix(wanted ?? limit)
        return .whole(.ok, document(Array(page), "query", state))
    }

    private static let columns =
        "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName|EventType\n"

    private func events(_ values: [String: String], _ state: State) -> [String] {
        found(values, state).map { state.features[$0.code] ?? $0.json }
    }

    private func found(_ values: [String: String], _ state: State) -> [Event] {
        let start = values["starttime"].flatMap(milliseconds) ?? state.now - 30 * 86_400_000
        let end = values["endtime"].flatMap(milliseconds) ?? state.now
        let after = values["updatedafter"].flatMap(milliseconds) ?? .min
        return state.events.values
            .filter { $0.time >= start && $0.time <= end && $0.updated > after }
            .sorted { ($0.time, $0.code) < ($1.time, $1.code) }
    }

    private func deletions(_ values: [String: String], _ state: State) -> [String] {
        guard values["eventtype"] == nil else { return [] }
        let after = values["updatedafter"].flatMap(milliseconds) ?? .min
        return state.gone.filter { $0.at > after }.map { state.features[$0.code] ?? $0.json }
    }

    private func document(_ features: [String], _ path: String, _ state: State) -> [UInt8] {
        Array(
            """
            {"type":"FeatureCollection","metadata":{"generated":\(state.now),"url":"http://\(Self.host)/\(path)",\
            "status":200,"count":\(features.count)},"features":[\(features.joined(separator: ",\n"))]}
            """.utf8)
    }

    /// Reads a time to the millisecond; further digits are cut off.
    private func milliseconds(_ text: String) -> Int? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return (try? format.parse("\(text.prefix(23).prefix { $0 != "Z" })Z")).map {
            Int(($0.timeIntervalSince1970 * 1000).rounded())
        }
    }
}

extension TestCatalogue.Event {
    public var json: String {
        """
        {"type":"Feature","properties":{"mag":\(magnitude),"place":"\(place)","time":\(time),"updated":\(updated),\
        "url":"https://\(TestCatalogue.host)/eventpage/\(code)","net":"\(code.prefix(2))","code":"\(code.dropFirst(2))",\
        "ids":",\(ids.joined(separator: ",")),","status":"automatic","type":"\(type)"},\
        "geometry":{"type":"Point","coordinates":[\(longitude),\(latitude),3]},"id":"\(code)"}
        """
    }
}

extension TestCatalogue.Event {
    /// A line of the FDSN text format, which has no revision time.
    fileprivate var line: String {
        "\(code)|\(iso(time))|\(latitude)|\(longitude)|3|somebody|EX|EX||mb|\(magnitude)|EX|\(place)|\(type)\n"
    }

    fileprivate var emsc: String {
        """
        {"type":"Feature","geometry":{"type":"Point","coordinates":[\(longitude),\(latitude),-3]},"id":"\(code)",\
        "properties":{"lastupdate":"\(iso(updated))","time":"\(iso(time))","flynn_region":"\(place)","lat":\(latitude),\
        "lon":\(longitude),"depth":3,"evtype":"ke","auth":"EX","mag":\(magnitude),"magtype":"mb","unid":"\(code)"}}
        """
    }

    private func iso(_ milliseconds: Int) -> String {
        Instant(milliseconds: Int64(milliseconds)).description
    }
}

extension TestCatalogue.Gone {
    fileprivate var json: String {
        let name =
            isNamed
            ? #""net":"\#(code.prefix(2))","code":"\#(code.dropFirst(2))","ids":",\#(code),""#
            : #""net":null,"code":null,"ids":null"#
        return """
            {"type":"Feature","properties":{"mag":null,"place":null,"time":null,"updated":\(at),"status":"deleted",\
            \(name),"type":null},"geometry":null,"id":\(isNamed ? "\"\(code)\"" : "null")}
            """
    }
}
