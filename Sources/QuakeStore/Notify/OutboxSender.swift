import Alerts
import Feed
import Logging
import PostgreSQL

/// Delivers the messages in the outbox at least once: one message at a time to each receiver, and the messages about one
/// earthquake in order.
///
/// If the connection is lost, the process is killed or the server crashes during a delivery, the message is delivered again under
/// the same id.
///
/// After a failure, the receiver gets no message for a while. This pause doubles with each further failure, up to 5 minutes. So
/// an unreachable receiver costs few attempts, even if many messages wait, and each message still has all its attempts.
struct OutboxSender {
    typealias Deliver = @Sendable (Message, Receiver) async throws -> Void

    let rules: RulesInForce
    /// Woken when there are new messages.
    let news: Signal
    let deliver: Deliver
    let logger: Logger

    /// The largest number of messages that are sent at the same time in each lane.
    private static let width = 16
    /// How many due messages are read at once, because looking for them takes time for each receiver with a waiting message.
    private static let stretch = 200
    /// How often the outbox is read without news, because messages may have become due.
    private static let interval = Duration.seconds(1)
    private static let shortestRest = Duration.seconds(5)
    private static let longestRest = Duration.seconds(300)
    /// The age at which waiting messages are given up, if their receiver has been failing for that long. All waits between
    /// attempts take 83 hours at most, so this limit ends only messages that were rarely attempted.
    private static let patience = Duration.seconds(84 * 3600)

    /// Receivers of different lanes never wait for each other. A mail server may take ten minutes for a reply, and a command as
    /// long as the rules allow.
    private enum Lane: CaseIterable {
        case quick, mail, command

        init(of receiver: String, _ rules: Rules) {
            self =
                switch rules.receivers[receiver]?.address {
                case .email: .mail
                case .command: .command
                case .webhook, .ntfy, nil: .quick
                }
        }
    }

    /// The events that end a wait.
    private enum Event: Sendable {
        case attempted(Outbox.Entry, Receiver, DeliveryFailure?)
        case woken
        case passed
    }

    /// Delivers until the task is cancelled.
    ///
    /// - Parameter once: whether to return as soon as no message is due.
    /// - Returns: how many attempts have failed.
    /// - Throws: `PostgresError`, `CancellationError`.
    @discardableResult
    func run(once: Bool = false, on connection: Connection) async throws -> Int {
        // Commits do not wait for the disk. If a crash of the server loses the record of a delivery, the message is delivered
        // again, as after a lost connection.
        try await connection.execute(script: "set synchronous_commit = off", to: "set up the session")
        return try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var round = Round(rules: rules.current)
            var (isListening, hasTimer) = (false, false)
            while true {
                let started = try await start(&round, &group, on: connection)
                if once, !started, round.busy.isEmpty { return round.failures }
                if !isListening, !once {
                    isListening = true
                    group.addTask { [news] in
                        await news.wait()
                        return .woken
                    }
                }
                if !hasTimer {
                    hasTimer = true
                    group.addTask {
                        try await Task.sleep(for: Self.interval)
                        return .passed
                    }
                }
                switch try await group.next() {
                case .attempted(let entry, let receiver, let failure)?:
                    round.busy.remove(entry.receiver)
                    round.open.insert(Lane(of: entry.receiver, rules.current))
                    try await note(failure, of: entry, to: receiver, &round, on: connection)
                case .woken?: (isListening, round.open) = (false, Set(Lane.allCases))
                case .passed?: (hasTimer, round.open) = (false, Set(Lane.allCases))
                case nil: break
                }
            }
        }
    }

    /// The state of a run of the sender.
    private struct Round {
        /// The rules that were in force when `gone` was filled.
        var rules: Rules
        var busy: Set<String> = []
        /// Due messages that were read, and wait until another delivery ends. Each has a different receiver.
        var ready: [Lane: ArraySlice<Outbox.Entry>] = [:]
        /// The lanes in which more messages may be due.
        var open = Set(Lane.allCases)
        var rests: [String: (until: ContinuousClock.Instant, length: Duration)] = [:]
        /// The receivers that get no more messages until the rules change, with the reason.
        var gone: [String: String] = [:]
        var failures = 0
    }

    /// - Returns: whether any message was due.
    private func start(
        _ round: inout Round, _ group: inout ThrowingTaskGroup<Event, any Error>, on connection: Connection
    ) async throws -> Bool {
        let current = rules.current
        if current != round.rules { try await take(current, &round, on: connection) }
        var hasDue = false
        for lane in Lane.allCases {
            func isFree() -> Bool {
                round.busy.count { Lane(of: $0, current) == lane } < Self.width
            }
            if round.ready[lane, default: []].isEmpty, isFree(), round.open.contains(lane) {
                let resting = round.rests.filter { $0.value.until > .now }.keys
                let others = current.receivers.keys.filter { Lane(of: $0, current) != lane }
                let without = round.busy.union(resting).union(others).sorted()
                let due = try await Outbox.due(Self.stretch, without: without, on: connection)
                round.ready[lane] = due[...]
                if due.isEmpty { round.open.remove(lane) }
            }
            while isFree(), let entry = round.ready[lane]?.popFirst() {
                hasDue = true
                try await start(entry, &round, &group, on: connection)
            }
        }
        return hasDue
    }

    /// Replaces the rules. A receiver that was changed gets its failed messages at once. The messages to a removed receiver are
    /// given up, unless a delivery is in progress; then they are given up when they are due.
    private func take(_ current: Rules, _ round: inout Round, on connection: Connection) async throws {
        for (name, old) in round.rules.receivers.sorted(by: { $0.key < $1.key }) {
            let new = current.receivers[name]
            if new != old { round.rests[name] = nil }
            if new == nil, !round.busy.contains(name) {
                try await giveUpAll(of: name, Self.unknown, on: connection)
            } else if new != nil, new != old {
                try await Outbox.hasten(name, on: connection)
            }
        }
        (round.rules, round.gone, round.ready) = (current, [:], [:])
        round.open = Set(Lane.allCases)
    }

    private func giveUpAll(
        of receiver: String, _ reason: String, olderThan age: Duration? = nil, on connection: Connection
    ) async throws {
        let count = try await Outbox.giveUpAll(of: receiver, reason, olderThan: age, on: connection)
        if count > 0 { logger.error("\(count) messages to \(receiver) are given up: \(reason)") }
    }

    private static let unknown = "the rules contain no receiver with this name"

    private func start(
        _ entry: Outbox.Entry, _ round: inout Round, _ group: inout ThrowingTaskGroup<Event, any Error>,
        on connection: Connection
    ) async throws {
        if let reason = reasonNotToSend(entry, round) {
            try await giveUpAll(of: entry.receiver, reason, on: connection)
        } else if let receiver = round.rules.receivers[entry.receiver],
            try await Outbox.begin(entry, rest: Self.shortestRest, on: connection)
        {
            round.busy.insert(entry.receiver)
            group.addTask { [deliver] in
                do {
                    try await deliver(entry.message, receiver)
                    return .attempted(entry, receiver, nil)
                } catch let failure as DeliveryFailure {
                    return .attempted(entry, receiver, failure)
                } catch  where !(error is CancellationError) {
                    // The error's text may contain a secret.
                    return .attempted(entry, receiver, DeliveryFailure("unexpected: \(type(of: error))"))
                }
            }
        }
    }

    private func reasonNotToSend(_ entry: Outbox.Entry, _ round: Round) -> String? {
        round.rules.receivers[entry.receiver] == nil ? Self.unknown : round.gone[entry.receiver]
    }

    private func note(
        _ failure: DeliveryFailure?, of entry: Outbox.Entry, to receiver: Receiver, _ round: inout Round,
        on connection: Connection
    ) async throws {
        guard let failure else {
            round.rests[entry.receiver] = nil
            logger.info("delivered \(entry.message.id)")
            return try await Outbox.delivered(entry, on: connection)
        }
        round.failures += 1
        let attempts = entry.attempts + 1
        // If the rules have changed the receiver since, its failure says nothing about the new address.
        let hasChanged = rules.current.receivers[entry.receiver] != receiver
        let wait =
            hasChanged
            ? .zero : AttemptSchedule.wait(after: failure, attempts: attempts, random: .random(in: 0..<1))
        let next = wait.map { "trying again in \(Int($0 / .seconds(1))) s" } ?? "it is given up"
        logger.log(
            level: wait == nil ? .error : .warning,
            "message \(entry.message.id), attempt \(attempts): \(failure.reason); \(next)")
        try await Outbox.failed(entry, failure.reason, again: wait, on: connection)
        if hasChanged { return }
        if failure.isGone {
            round.gone[entry.receiver] = failure.reason
            try await giveUpAll(of: entry.receiver, failure.reason, on: connection)
        } else if !failure.isFinal {
            let last = round.rests[entry.receiver]?.length ?? Self.shortestRest / 2
            let length = max(min(last * 2, Self.longestRest), failure.retryAfter ?? .zero)
            round.rests[entry.receiver] = (.now + length, min(length, Self.longestRest))
            try await giveUpAll(
                of: entry.receiver, failure.reason, olderThan: Self.patience, on: connection)
        }
    }
}
