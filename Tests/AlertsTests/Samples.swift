import Feed
import Foundation
import Testing

@testable import Alerts

// Places, times, events and rules for the tests.

let home = Rule.Place("home", Point(latitude: 35.69, longitude: 139.75))
let noon = at("2026-11-26T12:00:00Z")

func at(_ text: String) -> Instant {
    guard let moment = Instant(text) else { preconditionFailure("\(text) is not a moment") }
    return moment
}

/// An earthquake one degree of latitude, 111 km, north of home, at noon.
func quake(
    _ code: ExactText = "us1", _ magnitude: Double? = 5, north: Double = 1, time: Instant = noon,
    _ change: (inout AlertEvent) -> Void = { _ in }
) -> AlertEvent {
    var event = AlertEvent(
        code: code, magnitude: magnitude, time: time, latitude: home.point.latitude + north,
        longitude: home.point.longitude)
    event.agencies = ["us"]
    event.place = "somewhere"
    event.depth = 10
    change(&event)
    return event
}

func rule(_ name: String = "world", _ steps: Rule.Step..., change: (inout Rule) -> Void = { _ in }) -> Rule {
    var rule = Rule(name: name)
    rule.ladder = steps
    rule.places = [home]
    rule.receivers = ["me"]
    change(&rule)
    return rule
}

/// Lets rules decide on commits, as a follower does, and stores the ledger.
struct Stage {
    var rules: Rules
    var ledger = Ledger()
    var now = noon
    /// The current events by key.
    private(set) var events: [ExactText: AlertEvent] = [:]

    /// Alerts first run at noon. If `isStarted` is false, they have not run yet, and the events of the first commit count as
    /// already present.
    init(_ rules: Rule..., isStarted: Bool = true) {
        self.init(rules, isStarted: isStarted)
    }

    init(_ rules: [Rule], isStarted: Bool = true) {
        let names = Set(rules.flatMap(\.receivers))
        let receivers = names.map { ($0, Receiver(name: $0, .command(["/bin/true"], limit: .seconds(1)))) }
        self.rules = Rules(rules: rules, receivers: Dictionary(uniqueKeysWithValues: receivers))
        if isStarted { _ = tick() }
    }

    /// Commits changes after `wait`, decides on them after `delay`, and returns the messages. `deleted` and `superseded` have the
    /// keys of rows that the commit deletes.
    mutating func commit(
        after wait: Duration = .seconds(1), decided delay: Duration = .zero, deleted: [ExactText] = [],
        superseded: [ExactText: ExactText] = [:], _ changed: AlertEvent...
    ) -> [Message] {
        commit(after: wait, decided: delay, deleted: deleted, superseded: superseded, changed)
    }

    mutating func commit(
        after wait: Duration = .seconds(1), decided delay: Duration = .zero, deleted: [ExactText] = [],
        superseded: [ExactText: ExactText] = [:], _ changed: [AlertEvent]
    ) -> [Message] {
        now = now + wait
        var changes = changed.map { EventChange(before: events[$0.key], after: $0, committedAt: now) }
        for event in changed { events[event.key] = event }
        for key in deleted + superseded.keys {
            changes.append(
                EventChange(before: events[key], after: nil, supersededBy: superseded[key], committedAt: now))
            events[key] = nil
        }
        now = now + delay
        return rules.decide(changes, &ledger, now: now)
    }

    /// Lets time pass, and returns the messages that are due then.
    mutating func tick(_ wait: Duration = .zero) -> [Message] {
        now = now + wait
        return rules.decide([], &ledger, now: now)
    }
}

extension [Message] {
    /// The kinds of all reports, in order.
    var kinds: [Kind] { flatMap { $0.earthquakes.map(\.kind) } }
    var codes: [String] { flatMap { $0.earthquakes.map(\.code) } }
}
