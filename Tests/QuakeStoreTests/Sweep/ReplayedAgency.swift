import Foundation
import SampleFeed
import Synchronization
import TestSupport

/// An agency behind a stand-in for its service. Each kind finds, revises and withdraws events in a different way.
struct ReplayedAgency: Sendable {
    enum Kind: CaseIterable, Sendable {
        /// Sends text. To withdraw an event, it leaves the event out or lists it as not existing. The event may be listed again
        /// later.
        case seisComP
        /// Sends GeoJSON, and is asked by update time. An id may move to another earthquake.
        case emsc
        /// Sends text. To withdraw an event, it leaves the event out or gives it a new id.
        case ingv
    }

    let kind: Kind
    let catalogue: TestCatalogue
    private var random: SplitMix64
    private var found = 0

    init(_ kind: Kind, now: Int, random: SplitMix64) {
        self.kind = kind
        self.random = random
        catalogue = TestCatalogue(now: now, knows: kind == .emsc ? [.emsc, .updatedAfter] : [.text])
        for _ in 0..<40 { find(within: 2 * 86_400_000) }
    }

    var name: String {
        switch kind {
        case .seisComP: "gfz"
        case .emsc: "emsc"
        case .ingv: "ingv"
        }
    }
    var host: String {
        switch kind {
        case .seisComP: "geofon.gfz.de"
        case .emsc: "www.seismicportal.eu"
        case .ingv: "webservices.ingv.it"
        }
    }
    var service: String { "http://\(host)/fdsnws/event/1/" }

    /// The values that the table should have for each event with an origin time in this range, by code.
    func table(_ times: Range<Int>) -> [String: String] {
        catalogue.change { state in
            let events = state.events.values.filter { $0.type == "earthquake" && times.contains($0.time) }
            return Dictionary(
                uniqueKeysWithValues: events.map { event in
                    (
                        "\(name):\(event.code)",
                        "\(event.time) \(event.latitude) \(event.longitude) \(event.magnitude) \(event.place)"
                    )
                })
        }
    }

    // MARK: Changes

    mutating func pass(_ minutes: Int) {
        catalogue.change { $0.now += minutes * 60_000 }
        for _ in 0..<random.below(5) {
            // Some events are published days later.
            find(within: random.below(12) == 0 ? 5 * 86_400_000 : 2 * 3_600_000)
        }
        for _ in 0..<random.below(6) { change { $0.revise(&$1, $2) } }
        if random.below(3) == 0 { withdraw() }
    }

    private mutating func find(within milliseconds: Int) {
        found += 1
        let now = catalogue.change { $0.now }
        var event = TestCatalogue.Event(
            newID(), time: now - 60_000 - random.below(milliseconds), updated: now, magnitude: tenths(60))
        (event.latitude, event.longitude) = (tenths(900), tenths(1800))
        event.place = "place \(found)"
        let found = event
        catalogue.change { $0.add(found) }
    }

    private func newID() -> String {
        let letters = String(
            (0..<4).map { Character(UnicodeScalar(UInt8(97 + found / [17576, 676, 26, 1][$0] % 26))) })
        return switch kind {
        case .seisComP: "gfz2026\(letters)"
        case .emsc: "20261003_\(String(repeating: "0", count: 7 - "\(found)".count))\(found)"
        case .ingv: "\(46_000_000 + found)"
        }
    }

    private mutating func tenths(_ limit: Int) -> Double { Double(random.below(limit)) / 10 }

    /// Changes an event, nearly always one of the latest.
    private mutating func change(
        _ body: (inout ReplayedAgency, inout TestCatalogue.Event, _ now: Int) -> Void
    ) {
        let (now, codes) = catalogue.change { state in
            (
                state.now,
                state.events.values.filter { $0.type == "earthquake" }.sorted { $0.code < $1.code }.map(
                    \.code)
            )
        }
        let age = random.below(10) == 0 ? codes.count : 30
        let code = codes[codes.count - 1 - random.below(min(age, codes.count))]
        guard var event = catalogue.change({ $0.events[code] }) else { return }
        body(&self, &event, now)
        let changed = event
        catalogue.change { state in
            state.events[code] = nil
            state.add(changed)
        }
    }

    private mutating func revise(_ event: inout TestCatalogue.Event, _ now: Int) {
        event.updated = now
        switch random.below(4) {
        case 0: event.magnitude = tenths(60)
        case 1: event.place += "'"
        case 2: event.time = min(now - 1, event.time + random.below(16_000) - 8000)
        default: event.latitude = tenths(900)
        }
    }

    private mutating func withdraw() {
        switch kind {
        case .emsc:
            change { agency, event, now in
                event.updated = now
                event.time = min(now - 1, event.time + agency.random.below(2 * 3_600_000) - 3_600_000)
                (event.latitude, event.longitude) = (agency.tenths(900), agency.tenths(1800))
                event.place = "elsewhere"
            }
        case .seisComP where random.below(3) == 0:
            // The event is listed again.
            catalogue.change { state in
                if let code = state.events.first(where: { $0.value.type != "earthquake" })?.key {
                    state.events[code]?.type = "earthquake"
                }
            }
        case .seisComP where random.below(2) == 0:
            change { _, event, now in (event.type, event.updated) = ("not existing", now) }
        case .ingv where random.below(2) == 0:
            found += 1
            let id = newID()
            change { _, event, now in (event.code, event.updated) = (id, now) }
        case .seisComP, .ingv:
            var code = ""
            change { _, event, _ in code = event.code }
            let gone = code
            catalogue.change { $0.events[gone] = nil }
        }
    }
}

/// What a service does instead of giving its normal answer.
enum ServiceFault: CaseIterable, Sendable {
    case busyOnce, busy, cutOff, truncated, reset, unavailable

    /// Whether the normal answer comes when the request is repeated at once.
    var isPassing: Bool { self == .busyOnce }

    func instead(of answer: TestFeedServer.Answer, at cut: Int) -> TestFeedServer.Answer {
        guard case .whole(let status, let body, _) = answer else { return answer }
        return switch self {
        case .busyOnce, .busy: .whole(.tooManyRequests, [], headers: ["retry-after": "7"])
        case .cutOff: .cutOff(Array(body.prefix(cut % max(1, body.count))), promised: body.count)
        case .truncated: .whole(status, body.truncated(at: cut % max(1, body.count)))
        case .reset: .reset(Array(body.prefix(cut % max(1, body.count))), promised: body.count)
        case .unavailable: .whole(.serviceUnavailable, [])
        }
    }
}

extension [UInt8] {
    /// Cuts text shortly after the beginning of a row, because a row that is cut in its last column looks complete.
    fileprivate func truncated(at cut: Int) -> [UInt8] {
        guard first == UInt8(ascii: "#") else { return Array(prefix(cut)) }
        let start = prefix(cut).lastIndex(of: UInt8(ascii: "\n")) ?? 0
        return Array(prefix(start + 12))
    }
}
