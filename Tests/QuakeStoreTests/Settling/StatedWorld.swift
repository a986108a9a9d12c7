import SampleFeed

/// Events of three services, and of unknown owners. They are found, revised, moved, renamed and withdrawn, and some come back.
/// Feeds make statements about them. Some of a service's servers are behind: they list events as they were before the last
/// revision.
struct StatedWorld {
    private static let services = [Event.host, gatherer, "third.example.net"]
    /// This service also has the events of the other services and of unknown owners.
    private static let gatherer = "other.example.org"
    private var random: SplitMix64
    private var minute = 10_000
    private var events: [Event] = []
    /// The events as they were before their last revision, by code.
    private var earlier: [String: Event] = [:]
    private var hidden: [Event] = []
    /// The deletions of events that have not come back, by code.
    private var deletions: [String: (service: String, minute: Int)] = [:]
    private var found = 0

    init(random: SplitMix64) { self.random = random }

    /// Statements of several feeds, in the order in which they were made. About a third are made at the same moment as the
    /// previous statement.
    mutating func statements(_ count: Int) -> [Statement] {
        var made: Set<String> = []
        return (0..<count).map { _ in
            var statement: Statement
            repeat {
                pass(random.below(3) == 0 ? 0 : random.below(25))
                statement = random.below(4) == 0 ? sweep() : document()
                // No two statements have the same service, feed and time: workers that import such statements would block each
                // other.
            } while !statement.says || !made.insert(statement.description).inserted
            return statement
        }
    }

    private mutating func document() -> Statement {
        let service = Self.services[max(0, random.below(5) - 2)]
        let feed = ["all_hour", "all_hour", "all_day", "2.5_day", "backfill"][random.below(5)]
        let start = minute - (["all_hour": 60, "backfill": 600][feed] ?? 1440)
        let has = known(to: service).filter {
            $0.time >= start && $0.time <= minute && (feed != "2.5_day" || $0.code.hasSuffix("0"))
        }
        return Statement(service: service, feed: feed, made: minute, events: has)
    }

    /// A statement about the events that were recently revised or deleted, regardless of their origin times.
    private mutating func sweep() -> Statement {
        let service = Self.services[random.below(3)]
        let cursor = minute - random.below(200)
        let revised = known(to: service).filter { $0.updated > cursor }
        let said = deletions.filter { $0.value.service == service && $0.value.minute > cursor }
        return Statement(
            service: service, feed: "sweep", made: minute, events: revised,
            deletions: said.mapValues(\.minute))
    }

    /// The events as one of the service's servers has them.
    private mutating func known(to service: String) -> [Event] {
        let isBehind = random.below(2) == 0
        return events.filter { $0.host == service || service == Self.gatherer }.map { event in
            isBehind && random.below(2) == 0 ? earlier[event.code] ?? event : event
        }
    }

    private mutating func pass(_ minutes: Int) {
        for _ in 0..<minutes {
            minute += 1
            if random.below(4) == 0 {
                found += 1
                let host = (Self.services + [nil])[max(0, random.below(6) - 2)]
                events.append(Event("us\(found)", time: minute - 1, updated: minute, host: host))
            }
            guard !events.isEmpty else { continue }
            let index = max(0, events.count - 1 - random.below(12))
            change(index)
        }
    }

    private mutating func change(_ index: Int) {
        let event = events[index]
        switch random.below(20) {
        case 0:
            earlier[event.code] = event
            events[index].updated = minute
        case 1, 2:
            // The step is small, so it often moves the event just across the edge of an hour or a day.
            let step = random.below(2) == 0 ? random.below(7) - 3 : random.below(3) - 1
            earlier[event.code] = event
            // The origin time stays before `updated`: if the two were equal, the event would count as one without a revision
            // time.
            events[index].time = min(minute - 1, event.time + step)
            events[index].updated = minute
        case 3:
            found += 1
            let code = "ci\(found)"
            events[index] = Event(
                code, time: event.time, updated: minute, ids: event.ids + [code], host: event.host)
        case 4, 5:
            hidden.append(events.remove(at: index))
            if random.below(2) == 0 { deletions[event.code] = (event.host ?? Self.gatherer, minute + 1) }
        case 6 where !hidden.isEmpty:
            let back = hidden.remove(at: random.below(hidden.count))
            deletions[back.code] = nil
            events.append(back)
        case 7: events[index].felt = (event.felt ?? 0) + 1
        case 8: events[index].isBroken.toggle()
        default: break
        }
    }
}

extension Statement {
    /// Whether the statement has an effect: it has a readable feature, or it has only deletions.
    fileprivate var says: Bool {
        events.isEmpty ? !deletions.isEmpty : events.contains { !$0.isBroken }
    }
}
