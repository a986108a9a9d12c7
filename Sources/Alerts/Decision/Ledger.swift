import Feed

/// What was told to each receiver and what waits: all that the rules need to be kept between two commits.
///
/// Store it in the transaction that stores the messages and the position. Then a restart repeats nothing and skips nothing.
/// It holds what was told in the last 30 days; older entries may be deleted, because an earthquake that is forgotten is only
/// told again if it newly reaches a rule, and is young enough.
public struct Ledger: Sendable, Equatable {
    /// When changes were last decided; nil before the first start. What exists at the first start is never told.
    public internal(set) var decidedAt: Instant?
    /// By earthquake, then by receiver.
    public private(set) var standings: [String: [String: Standing]]
    /// By receiver.
    public internal(set) var paces: [String: Pace]
    /// The earthquakes whose standings are not stored as they are now. Empty it after they were.
    public var touched: Set<String> = []
    /// The earthquakes of which something waits.
    private(set) var waiting: Set<String>

    /// - Parameters: what was stored; nothing for the first start.
    public init(
        decidedAt: Instant? = nil, standings: [String: [String: Standing]] = [:], paces: [String: Pace] = [:]
    ) {
        (self.decidedAt, self.standings, self.paces) = (decidedAt, standings, paces)
        waiting = Set(standings.filter { $1.values.contains { $0.waiting != nil } }.keys)
    }

    /// How long it is remembered what was told.
    public static let memory = Duration.seconds(30 * 86_400)

    /// When something that waits is due; nil if nothing waits. Call `Rules.decide` then, with the changes since.
    public var nextDue: Instant? {
        waiting.lazy.flatMap { standings[$0, default: [:]].values }.compactMap(\.waiting?.due).min()
    }

    subscript(earthquake: String, receiver: String) -> Standing? {
        get { standings[earthquake]?[receiver] }
        set {
            guard newValue != self[earthquake, receiver] else { return }
            standings[earthquake, default: [:]][receiver] = newValue
            note(earthquake)
        }
    }

    /// Moves what is known of an earthquake to another key. Where both have something, the new key's stays.
    mutating func move(_ old: String, to new: String) {
        guard old != new, var moved = standings.removeValue(forKey: old) else { return }
        for receiver in moved.keys {
            moved[receiver]?.told?.event.key = new
            moved[receiver]?.waiting?.event.key = new
        }
        standings[new, default: [:]].merge(moved) { kept, _ in kept }
        note(old)
        note(new)
    }

    /// Forgets what was told too long ago.
    mutating func forget(at now: Instant) {
        let limit = now - Self.memory
        for (earthquake, receivers) in standings {
            for (receiver, standing) in receivers where standing.waiting == nil {
                if standing.told.map({ $0.at < limit }) ?? true { self[earthquake, receiver] = nil }
            }
        }
    }

    private mutating func note(_ earthquake: String) {
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

/// How one receiver stands with one earthquake.
public struct Standing: Sendable, Equatable, Codable {
    /// What was last told; nil if nothing was.
    public var told: Told?
    /// What is to be told later.
    public var waiting: Waiting?

    public init(told: Told? = nil, waiting: Waiting? = nil) {
        (self.told, self.waiting) = (told, waiting)
    }

    public struct Told: Sendable, Equatable, Codable {
        /// The earthquake as it was told. Corrections are measured from it.
        public var event: AlertEvent
        public var kind: Kind
        public var at: Instant
        /// How many times it was told of, this one included.
        public var count: Int
        /// The id of the first message, to which later ones refer.
        public var thread: String

        /// Whether the receiver has to believe that the earthquake is there, and as large as the rule asks for.
        public var stands: Bool { kind != .noLonger && kind != .withdrawn }
    }

    public struct Waiting: Sendable, Equatable, Codable {
        /// The earthquake as it is now, or was before it was deleted.
        public var event: AlertEvent
        public var kind: Kind
        /// What it was before it rose, or as it was told.
        public var earlier: AlertEvent?
        /// The names of the rules that want it told.
        public var rules: [String]
        public var since: Instant
        public var due: Instant
        public var cause: Cause
    }

    public enum Cause: String, Sendable, Codable {
        case quiet, swarm
        /// It was committed while alerts were not running.
        case outage
    }
}
