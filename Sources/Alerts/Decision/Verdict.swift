import Feed

/// The message for one receiver about one earthquake, before quiet hours and swarms are considered.
struct Verdict: Equatable {
    let kind: Kind
    let event: AlertEvent
    /// The version before the magnitude rose, or the version of the last message.
    var earlier: AlertEvent?
    /// The rules that ask for the message.
    let rules: [Rule]

    /// - Parameters:
    ///   - rules: the rules that name the receiver.
    ///   - change: all changes of the earthquake in this pass, merged into one.
    ///   - decidedAt: when changes were last decided.
    /// - Returns: nil if there is nothing to report. A waiting message is then dropped.
    init?(
        _ change: EventChange, _ standing: Standing?, rules: [Rule], decidedAt: Instant, now: Instant
    ) {
        guard let told = standing?.told else {
            self.init(unseen: change, standing?.waiting, rules, decidedAt, now)
            return
        }
        guard let after = change.after else {
            guard told.stands else { return nil }
            self.init(.withdrawn, told.event, earlier: told.event, rules.filter { $0.covers(told.event) })
            return
        }
        let covering = rules.filter { $0.covers(after) }
        switch (told.stands, covering.isEmpty) {
        case (true, false):
            guard after.differsNotably(from: told.event) else { return nil }
            self.init(.corrected, after, earlier: told.event, covering)
        case (true, true):
            // An unknown magnitude does not mean that the earthquake is smaller. A rule that does not cover the version in the
            // last message has been edited since, and does not count.
            guard after.magnitude != nil || after.isExercise else { return nil }
            self.init(.noLonger, after, earlier: told.event, rules.filter { $0.covers(told.event) })
        case (false, false):
            // Prevents a message each time that the magnitude crosses the threshold by a little.
            guard told.kind == .withdrawn || after.differsNotably(from: told.event) else { return nil }
            self.init(.risen, after, earlier: told.event, covering)
        case (false, true): return nil
        }
    }

    /// The verdict on an earthquake about which the receiver has got no message.
    private init?(
        unseen change: EventChange, _ waiting: Standing.Waiting?, _ rules: [Rule], _ decidedAt: Instant,
        _ now: Instant
    ) {
        guard let after = change.after else { return nil }
        let covering = rules.filter { $0.covers(after) }
        if let waiting {
            self.init(waiting.kind, after, earlier: waiting.earlier, covering)
            return
        }
        // If the commit's time is unknown, the age counts up to the last decision, or is 0 if the event happened later.
        let moment = change.committedAt ?? min(now, max(after.time, decidedAt))
        let admitting = covering.filter { rule in
            guard rule.admits(after, at: moment) else { return false }
            guard let before = change.before else { return true }
            // If the previous version already matched the rule, the event is not news: it existed before the first start or
            // before the rule did, or quiet hours dropped its message. The match is checked as of the last decision, which sent
            // no message about an origin time in the future.
            return !(rule.covers(before) && rule.admits(before, at: min(moment, decidedAt)))
        }
        let rose = change.before.map { before in !admitting.contains { $0.isReached(by: before) } } ?? false
        self.init(rose ? .risen : .new, after, earlier: rose ? change.before : nil, admitting)
    }

    /// nil if no rule asks for this kind of message.
    private init?(_ kind: Kind, _ event: AlertEvent, earlier: AlertEvent?, _ rules: [Rule]) {
        let wanting = rules.filter { $0.kinds.contains(kind) }
        guard !wanting.isEmpty else { return nil }
        (self.kind, self.event, self.earlier, self.rules) = (kind, event, earlier, wanting)
    }
}
