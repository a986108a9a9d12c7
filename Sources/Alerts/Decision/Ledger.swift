import Feed

/// The messages that each receiver got, and the messages that wait. This is the state that the rules need between two commits.
///
/// Store it in the transaction that stores the messages and the position. Then a restart neither repeats nor skips a message. The
/// ledger keeps entries for 30 days. Older entries are not needed: without an entry, there is a message only if the earthquake is
/// younger than the rule's `maxAge`, which is at most 30 days.
public struct Ledger: Sendable, Equatable {
    /// When `Rules.decide` was last called; nil before the first start. The first start sends no messages about the earthquakes
    /// that exist then.
    public internal(set) var decidedAt: Instant?
    /// The standings by the earthquake's key, then by the receiver's name.
    public private(set) var standings: [ExactText: [String: Standing]]
    /// The message rate of each receiver, by its name.
    public internal(set) var paces: [String: Pace]
    /// The keys of the earthquakes whose standings have changed since they were last stored. Empty the set after storing the
    /// standings.
    public var touched: Set<ExactText> = []
    /// The keys of the earthquakes with a waiting message.
    private(set) var waiting: Set<ExactText>

    /// - Parameters: the stored state. Pass no arguments at the first start.
    public init(
        decidedAt: Instant? = nil, standings: [ExactText: [String: Standing]] = [:],
        paces: [String: Pace] = [:]
    ) {
        (self.decidedAt, self.standings, self.paces) = (decidedAt, standings, paces)
        waiting = Set(standings.filter { $1.values.contains { $0.waiting != nil } }.keys)
    }

    /// How long the ledger keeps an entry.
    public static let memory = Duration.seconds(30 * 86_400)

    /// When the next waiting message is due; nil if no message waits. Call `Rules.decide` at that time, with the changes up to
    /// then.
    public var nextDue: Instant? {
        waiting.lazy.flatMap { standings[$0, default: [:]].values }.compactMap(\.waiting?.due).min()
    }

    subscript(earthquake: ExactText, receiver: String) -> Standing? {
        get { standings[earthquake]?[receiver] }
        set {
            guard newValue != self[earthquake, receiver] else { return }
            standings[earthquake, default: [:]][receiver] = newValue
            note(earthquake)
        }
    }

    /// Moves an earthquake's standings to another key. If both keys have a standing for a receiver, the one whose report stands
    /// is kept, otherwise one with a report, and if that decides nothing, the new key's. If the old key's is kept, a waiting report
    /// of the new key becomes a correction, or is dropped if it differs too little from the report.
    ///
    /// - Parameter receivers: the receivers whose standings are not moved.
    mutating func move(_ old: ExactText, to new: ExactText, except receivers: Set<String> = []) {
        guard old != new, let known = standings.removeValue(forKey: old) else { return }
        standings[old] = known.filter { receivers.contains($0.key) }
        var moved = known.filter { !receivers.contains($0.key) }
        for receiver in moved.keys {
            moved[receiver]?.told?.event.key = new
            moved[receiver]?.waiting?.event.key = new
        }
        standings[new, default: [:]].merge(moved) { kept, moved in
            // Otherwise a later message could get the id of an earlier one.
            let count = max(kept.told?.count ?? 0, moved.told?.count ?? 0)
            var (kept, joined) = (kept, moved)
            kept.told?.count = count
            joined.told?.count = count
            guard let told = joined.told, kept.told.map({ told.stands && !$0.stands }) ?? true else {
                return kept
            }
            // A receiver that was told of a withdrawal must hear that the earthquake exists after all.
            if told.kind != .withdrawn { joined.waiting = nil }
            if var waiting = kept.waiting, told.isOutdated(by: waiting.event) {
                waiting.kind = told.stands ? .corrected : .risen
                waiting.earlier = told.event
                joined.waiting = waiting
            }
            return joined
        }
        note(old)
        note(new)
    }

    /// Whether the decision at `now` is the first one of its hour. Searching the whole ledger for old entries is slow, so they are
    /// only forgotten then. Old entries do no harm.
    package func isFirst(ofHour now: Instant) -> Bool {
        func hour(_ moment: Instant) -> Int64 { moment.milliseconds.divided(by: 3_600_000).whole }
        return decidedAt.map { hour($0) != hour(now) } ?? false
    }

    /// Deletes the standings that are older than `memory` and have no waiting message, and the paces of receivers that got no
    /// message lately.
    mutating func forget(at now: Instant) {
        for receiver in paces.keys { paces[receiver]?.settle(at: now) }
        paces = paces.filter { $0.value != Pace() }
        let limit = now - Self.memory
        for (earthquake, receivers) in standings {
            for (receiver, standing) in receivers where standing.waiting == nil {
                if standing.told.map({ $0.at < limit }) ?? true { self[earthquake, receiver] = nil }
            }
        }
    }

    private mutating func note(_ earthquake: ExactText) {
        touched.insert(earthquake)
        let receivers = standings[earthquake] ?? [:]
        if receivers.isEmpty { standings[earthquake] = nil }
        if receivers.values.contains(where: { $0.waiting != nil }) {
            waiting.insert(earthquake)
        } else {
            waiting.remove(earthquake)
        }
    }
}

/// One receiver's messages about one earthquake: the last message that was sent, and the message that waits.
public struct Standing: Sendable, Equatable, Codable {
    /// The last message that was sent; nil if there was none.
    public var told: Told?
    /// The waiting message; nil if there is none.
    public var waiting: Waiting?

    public init(told: Told? = nil, waiting: Waiting? = nil) {
        (self.told, self.waiting) = (told, waiting)
    }

    public struct Told: Sendable, Equatable, Codable {
        /// The earthquake as the message described it. Later versions are compared with it to decide on a correction.
        public var event: AlertEvent
        public var kind: Kind
        public var at: Instant
        /// The number of messages that the receiver has got about the earthquake, including this one.
        public var count: Int
        /// The id of the first message, to which later messages refer.
        public var thread: String

        /// Whether the last message said that the earthquake exists and matches the rule.
        public var stands: Bool { kind != .noLonger && kind != .withdrawn }

        /// Whether the earthquake, as it is in `event`, differs enough from the last message for another one. After a withdrawal,
        /// any earthquake does.
        func isOutdated(by event: AlertEvent) -> Bool {
            kind == .withdrawn || event.differsNotably(from: self.event)
        }
    }

    public struct Waiting: Sendable, Equatable, Codable {
        /// The earthquake's current version. If the earthquake was deleted, the version in the last message.
        public var event: AlertEvent
        public var kind: Kind
        /// The version in the last message. If there was no message, the version before the revision that made the earthquake
        /// match; nil for the kind `new`.
        public var earlier: AlertEvent?
        /// The names of the rules that ask for the message.
        public var rules: [String]
        public var since: Instant
        public var due: Instant
        public var cause: Cause
    }

    public enum Cause: String, Sendable, Codable {
        case quiet, swarm
        /// The change was committed while `quakes notify` was not running.
        case outage
    }
}
