import Feed

/// What is to be told of one earthquake to one receiver, before quiet hours and swarms.
struct Verdict: Equatable {
    let kind: Kind
    let event: AlertEvent
    /// What it was before it rose, or as it was told.
    var earlier: AlertEvent?
    /// The rules that want it told.
    let rules: [Rule]

    /// - Parameters:
    ///   - rules: those that go to the receiver.
    ///   - change: all changes of the earthquake in this pass, as one.
    ///   - decidedAt: when changes were decided before.
    /// - Returns: nil if nothing is to be told. What waited is then off.
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
            // An unknown magnitude says nothing of its size. And if the rules as they are now would not have told it, it
            // is the rules that changed.
            guard after.magnitude != nil || after.isExercise else { return nil }
            self.init(.noLonger, after, earlier: told.event, rules.filter { $0.covers(told.event) })
        case (false, false):
            // A magnitude that goes to and fro about the threshold is not told again each time.
            guard told.kind == .withdrawn || after.differsNotably(from: told.event) else { return nil }
            self.init(.risen, after, earlier: told.event, covering)
        case (false, true): return nil
        }
    }

    /// The verdict on an earthquake that was never told.
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
        // Where the commit's time is unknown, the event counts as young if it was when changes were last decided.
        let moment = change.committedAt ?? min(now, max(after.time, decidedAt))
        let admitting = covering.filter { rule in
            guard rule.admits(after, at: moment) else { return false }
            guard let before = change.before else { return true }
            // What the rule would have told before is not told now: it was there at the first start, came in quiet hours that
            // drop it, or is older than the rule. What was in the future then was not told.
            return !(rule.covers(before) && rule.admits(before, at: min(moment, decidedAt)))
        }
        let rose = change.before.map { before in !admitting.contains { $0.isReached(by: before) } } ?? false
        self.init(rose ? .risen : .new, after, earlier: rose ? change.before : nil, admitting)
    }

    /// nil if no rule wants this kind told.
    private init?(_ kind: Kind, _ event: AlertEvent, earlier: AlertEvent?, _ rules: [Rule]) {
        let wanting = rules.filter { $0.kinds.contains(kind) }
        guard !wanting.isEmpty else { return nil }
        (self.kind, self.event, self.earlier, self.rules) = (kind, event, earlier, wanting)
    }
}
