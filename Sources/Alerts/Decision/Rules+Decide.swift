import Feed

extension Rules {
    /// How long a digest of missed changes is delayed, to include further missed changes.
    public static let gathering = Duration.seconds(60)

    /// Decides which messages to send now, about these changes and about earlier changes whose messages have waited long enough.
    ///
    /// The result depends only on the arguments. Store the ledger, the messages and the position of the last change in one
    /// transaction. The first call returns no messages, because the earthquakes that exist at that time are not news.
    ///
    /// - Parameters:
    ///   - changes: the changes in the order of their commits. Several changes of one earthquake are merged into one.
    ///   - now: the time by the database's clock. The commit times are from the same clock.
    ///   - gathering: how long a digest of missed changes is delayed.
    /// - Returns: at most one message for each earthquake and receiver. The messages to one receiver are in the order in which
    ///   they should arrive.
    public func decide(
        _ changes: [EventChange], _ ledger: inout Ledger, now: Instant,
        gathering: Duration = Rules.gathering
    ) -> [Message] {
        guard let decidedAt = ledger.decidedAt else {
            ledger.decidedAt = now
            return []
        }
        var decision = Decision(
            rules: self, ledger: ledger, decidedAt: decidedAt, now: now, gathering: gathering)
        let isHourly = ledger.isFirst(ofHour: now)
        // This drops the second reference to the ledger's dictionaries. With two references, the first change would copy them.
        ledger = Ledger()
        let changes = merged(changes, now)
        // Standings are moved first, because an earthquake may have joined another one that has changed in the same pass.
        let current = Dictionary(uniqueKeysWithValues: changes.compactMap { $0.after }.map { ($0.key, $0) })
        for change in changes { decision.move(change, current) }
        for change in changes where change.newKey == nil || decision.hasStanding(change) {
            decision.take(change)
        }
        decision.tellDue()
        if isHourly { decision.ledger.forget(at: now) }
        ledger = decision.ledger
        ledger.decidedAt = now
        return decision.messages
    }

    /// Merges the changes of each earthquake into one, and sorts them by magnitude, the largest first. A merged change has the
    /// commit time of its first change. A commit time in the future, which was recorded before the clock was set back, counts as
    /// now.
    private func merged(_ changes: [EventChange], _ now: Instant) -> [EventChange] {
        var merged: [ExactText: EventChange] = [:]
        for change in changes {
            guard let key = (change.after ?? change.before)?.key else { continue }
            var whole = change
            whole.committedAt = change.committedAt.map { min($0, now) }
            if let first = merged[key] {
                (whole.before, whole.committedAt) = (first.before, first.committedAt)
            }
            merged[key] = whole
        }
        func order(_ change: EventChange) -> (Double, ExactText) {
            let event = change.after ?? change.before
            return (-(event?.magnitude ?? -.infinity), event?.key ?? "")
        }
        return merged.values.filter { $0.before != nil || $0.after != nil }.sorted { order($0) < order($1) }
    }
}

/// One call of `Rules.decide`.
private struct Decision {
    let rules: Rules
    var ledger: Ledger
    let decidedAt: Instant
    let now: Instant
    let gathering: Duration
    var messages: [Message] = []
    private let rulesOf: [String: [Rule]]
    private let oldest: Instant
    /// When each receiver's digest of missed changes is due.
    private var outageDues: [String: Instant] = [:]

    init(rules: Rules, ledger: Ledger, decidedAt: Instant, now: Instant, gathering: Duration) {
        (self.rules, self.ledger, self.decidedAt, self.now) = (rules, ledger, decidedAt, now)
        self.gathering = gathering
        var rulesOf: [String: [Rule]] = [:]
        for rule in rules.rules {
            for receiver in Set(rule.receivers) { rulesOf[receiver, default: []].append(rule) }
        }
        self.rulesOf = rulesOf
        oldest = min(now, decidedAt) - (rules.rules.map(\.maxAge).max() ?? .zero)
    }

    // MARK: Changes

    /// Moves the standings of an earthquake that continues under another key.
    ///
    /// A receiver may have got reports about both earthquakes. If the first report describes another earthquake than the joined
    /// one, that report is withdrawn, so its standing stays.
    ///
    /// - Parameter current: the earthquakes that have changed in this pass, as they are now.
    mutating func move(_ change: EventChange, _ current: [ExactText: AlertEvent]) {
        guard let old = change.before?.key, let new = change.newKey else { return }
        let withdrawn = ledger.standings[old, default: [:]].filter { receiver, standing in
            guard let told = standing.told, told.stands,
                let other = ledger[new, receiver]?.told, other.stands || current[new] == nil
            else { return false }
            return told.isOutdated(by: current[new] ?? other.event)
        }
        ledger.move(old, to: new, except: Set(withdrawn.keys))
    }

    func hasStanding(_ change: EventChange) -> Bool {
        change.before.map { ledger.standings[$0.key] != nil } ?? false
    }

    mutating func take(_ change: EventChange) {
        guard let event = change.after ?? change.before else { return }
        if ledger.standings[event.key] == nil {
            let alias = (event.ids + [event.code]).first { ledger.standings[$0] != nil }
            if let alias { ledger.move(alias, to: event.key) }
        }
        let known = ledger.standings[event.key] ?? [:]
        var receivers = Set(known.keys)
        // Earthquakes that are too old for all rules are not matched, because a backfill imports thousands of them.
        if let after = change.after, (change.committedAt ?? now) - after.time <= now - oldest {
            for rule in rules.rules where rule.covers(after) { receivers.formUnion(rule.receivers) }
        }
        for receiver in receivers.sorted() { take(change, of: event.key, for: receiver, known[receiver]) }
    }

    private mutating func take(
        _ change: EventChange, of key: ExactText, for receiver: String, _ standing: Standing?
    ) {
        let rules = rulesOf[receiver] ?? []
        let verdict = Verdict(change, standing, rules: rules, decidedAt: decidedAt, now: now)
        guard let verdict else {
            if standing?.waiting != nil { wait(nil, key, receiver) }
            return
        }
        let isOutage = now - (change.committedAt ?? decidedAt) > Self.outage
        switch timing(verdict, receiver, held: standing?.waiting, isOutage: isOutage) {
        case .never: wait(nil, key, receiver)
        case .now: tell([verdict], receiver)
        case .later(let due, let cause):
            wait(
                Standing.Waiting(
                    event: verdict.event, kind: verdict.kind, earlier: verdict.earlier,
                    rules: verdict.rules.map(\.name), since: standing?.waiting?.since ?? now, due: due,
                    cause: cause),
                key, receiver)
        }
    }

    private mutating func wait(_ waiting: Standing.Waiting?, _ key: ExactText, _ receiver: String) {
        var standing = ledger[key, receiver] ?? Standing()
        standing.waiting = waiting
        ledger[key, receiver] = standing == Standing() ? nil : standing
    }

    // MARK: Timing

    /// A change that was committed longer ago than this counts as missed. A digest reports all missed changes.
    private static let outage = Duration.seconds(3600)

    private enum Timing {
        case now, never
        case later(Instant, Standing.Cause)
    }

    private mutating func timing(
        _ verdict: Verdict, _ receiver: String, held: Standing.Waiting?, isOutage: Bool
    ) -> Timing {
        if let quiet = quiet(verdict, held: held) { return quiet }
        if isOutage {
            return .later(outageDue(receiver), .outage)
        }
        let held = ledger.paces[receiver, default: Pace()].hold(magnitude: verdict.event.magnitude, at: now)
        return held.map { .later($0, .swarm) } ?? .now
    }

    /// When the receiver's digest of missed changes is due. If no such digest waits, a new one begins.
    private mutating func outageDue(_ receiver: String) -> Instant {
        if let due = outageDues[receiver] { return due }
        let others = ledger.waiting.lazy.compactMap { [ledger] in ledger[$0, receiver]?.waiting }
        let next = now + gathering
        // Quiet hours may have delayed the other digest.
        let due = others.filter { $0.cause == .outage }.map(\.due).reduce(next, min)
        outageDues[receiver] = due
        return due
    }

    /// How quiet hours affect the message: it is sent later, or never. The result is nil if it may be sent now, because one of
    /// its rules has no quiet hours at this time.
    ///
    /// - Parameter held: the report that waits already. Quiet hours drop it only if it waits because of quiet hours.
    private func quiet(_ verdict: Verdict, held: Standing.Waiting?) -> Timing? {
        let cause = held?.cause ?? .quiet
        let isKept = !verdict.kind.isNews || cause != .quiet
        var due: Instant?
        for rule in verdict.rules {
            guard let quiet = rule.quiet, let end = quiet.end(at: now) else { return nil }
            if quiet.action == .defer || isKept { due = min(due ?? end, end) }
        }
        return due.map { .later($0, cause) } ?? .never
    }

    // MARK: Sending

    /// Adds one message for each receiver, about all of its earthquakes whose messages are due.
    mutating func tellDue() {
        var due: [String: [Verdict]] = [:]
        for key in ledger.waiting.sorted() {
            for (receiver, standing) in ledger.standings[key] ?? [:] {
                // If `since` is in the future, the clock has been set back. Then the message is due as well.
                guard let waiting = standing.waiting, waiting.due <= now || waiting.since > now else {
                    continue
                }
                guard let verdict = Verdict(waiting, rules: rulesOf[receiver] ?? []) else {
                    wait(nil, key, receiver)
                    continue
                }
                switch quiet(verdict, held: waiting) {
                case nil, .now: due[receiver, default: []].append(verdict)
                case .never: wait(nil, key, receiver)
                case .later(let end, let cause):
                    var later = waiting
                    (later.since, later.due, later.cause) = (min(waiting.since, now), end, cause)
                    wait(later, key, receiver)
                }
            }
        }
        for (receiver, verdicts) in due.sorted(by: { $0.key < $1.key }) {
            func order(_ verdict: Verdict) -> (Double, ExactText) {
                (-(verdict.event.magnitude ?? -99), verdict.event.key)
            }
            tell(verdicts.sorted { order($0) < order($1) }, receiver)
        }
    }

    private mutating func tell(_ verdicts: [Verdict], _ receiver: String) {
        let reports = verdicts.map { verdict in
            let count = (ledger[verdict.event.key, receiver]?.told?.count ?? 0) + 1
            return Report(verdict, receiver: receiver, count: count)
        }
        let first = ledger[verdicts[0].event.key, receiver]?.told?.thread
        let message = Message(
            reports, to: receiver, thread: verdicts.count == 1 ? first : nil, zone: rules.zone, at: now)
        messages.append(message)
        for (verdict, report) in zip(verdicts, reports) {
            let told = ledger[verdict.event.key, receiver]?.told
            ledger[verdict.event.key, receiver] = Standing(
                told: .init(
                    event: verdict.event, kind: verdict.kind, at: now, count: report.count,
                    thread: told?.thread ?? message.id))
        }
        ledger.paces[receiver, default: Pace()].sent(
            magnitude: verdicts.compactMap(\.event.magnitude).max(), isDigest: verdicts.count > 1, at: now)
    }
}

extension EventChange {
    /// The key under which the deleted event continues; nil for any other change. The row with the new key is a separate change.
    fileprivate var newKey: ExactText? {
        after == nil && supersededBy != before?.key ? supersededBy : nil
    }
}

extension Verdict {
    /// Checks a waiting report against the current rules; nil if no rule asks for the report any more.
    fileprivate init?(_ waiting: Standing.Waiting, rules: [Rule]) {
        let decisive =
            waiting.kind.isNews || waiting.kind == .corrected
            ? waiting.event : waiting.earlier ?? waiting.event
        self.init(waiting.kind, waiting.event, earlier: waiting.earlier, rules.filter { $0.covers(decisive) })
    }
}
