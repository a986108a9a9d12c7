import Feed

/// The message for one receiver about one earthquake. Quiet hours and swarms are considered later.
struct Verdict: Equatable {
    let kind: Kind
    let event: AlertEvent
    /// The version in the last message. If there was no message, the version before the revision that made the earthquake match;
    /// nil for the kind `new`.
    var earlier: AlertEvent?
    /// The rules that ask for the message.
    let rules: [Rule]

    /// - Parameters:
    ///   - rules: the rules that name the receiver.
    ///   - change: all changes of the earthquake in this pass, merged into one.
    ///   - decidedAt: when `Rules.decide` was last called.
    /// - Returns: nil if there is nothing to report. The caller then drops a waiting message.
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
            guard told.isOutdated(by: after) else { return nil }
            self.init(.corrected, after, earlier: told.event, covering)
        case (true, true):
            // If the magnitude is unknown now, the earthquake may still be as large as before, so there is no message. Rules that
            // do not cover the version in the last message are ignored, because they have been edited since.
            guard after.magnitude != nil || after.isExercise else { return nil }
            self.init(.noLonger, after, earlier: told.event, rules.filter { $0.covers(told.event) })
        case (false, false):
            // Otherwise there would be a message each time the magnitude crosses the threshold by a little.
            guard told.isOutdated(by: after) else { return nil }
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
        if let waiting {
            self.init(waiting.kind, after, earlier: waiting.earlier, rules.filter { $0.covers(after) })
            return
        }
        // If the commit's time is unknown, the earthquake's age is measured at the time of the last decision. The age is 0 if the
        // earthquake happened later.
        let moment = change.committedAt ?? min(now, max(after.time, decidedAt))
        func wasKnown(_ before: AlertEvent, _ rule: Rule) -> Bool {
            rule.covers(before) && rule.admits(before, at: min(moment, decidedAt))
        }
        let admitting = rules.filter { rule in
            guard rule.covers(after), rule.admits(after, at: moment) else { return false }
            guard let before = change.before, !rule.isReached(by: after, higherThanBy: before) else {
                return true
            }
            // If the previous version already matched the rule at this step of the ladder, the event is not news: it existed
            // before the first start or before the rule, or quiet hours dropped its message. The match is checked for the time of
            // the last decision: if the origin time was still in the future then, no message was sent, so the event is news now.
            return !wasKnown(before, rule)
        }
        let rose =
            change.before.map { before in
                !admitting.contains { $0.isReached(by: before) && !wasKnown(before, $0) }
            } ?? false
        self.init(rose ? .risen : .new, after, earlier: rose ? change.before : nil, admitting)
    }

    /// The result is nil if no rule asks for this kind of message. If the earthquake is sure enough for some of the rules that
    /// ask for the message, only these count: the quiet hours of the others have no effect.
    init?(_ kind: Kind, _ event: AlertEvent, earlier: AlertEvent?, _ rules: [Rule]) {
        let wanting = rules.filter { $0.kinds.contains(kind) }
        guard !wanting.isEmpty else { return nil }
        let sure = wanting.filter { $0.trusts(event) }
        (self.kind, self.event, self.earlier) = (kind, event, earlier)
        self.rules = sure.isEmpty ? wanting : sure
    }
}
