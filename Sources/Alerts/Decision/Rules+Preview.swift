import Feed

/// The messages that a rule would have sent in a period of the past.
public struct RulePreview: Sendable {
    public let rule: String
    /// A digest counts as one message.
    public internal(set) var messages = 0
    public internal(set) var kinds: [Kind: Int] = [:]
    /// The times and titles of the last few messages, the oldest first.
    public internal(set) var latest: [(at: Instant, title: String)] = []

    static let shown = 3
}

extension Rules {
    /// The messages that each rule would have sent if it had been the only rule, with one receiver.
    ///
    /// - Parameters:
    ///   - changes: the changes in the order of their commits, with the commit times.
    ///   - start: the start of the period, before the first change.
    public func preview(of changes: [EventChange], from start: Instant, to end: Instant) -> [RulePreview] {
        rules.map { rule in
            var rule = rule
            rule.receivers = ["preview"]
            var alone = self
            alone.rules = [rule]
            return alone.preview(rule, changes, start, end)
        }
    }

    private func preview(
        _ rule: Rule, _ changes: [EventChange], _ start: Instant, _ end: Instant
    ) -> RulePreview {
        var preview = RulePreview(rule: rule.name)
        var ledger = Ledger(decidedAt: start)
        func take(_ messages: [Message]) {
            for message in messages {
                preview.messages += 1
                for report in message.earthquakes { preview.kinds[report.kind, default: 0] += 1 }
                preview.latest.append((message.at, message.title))
            }
            preview.latest = preview.latest.suffix(RulePreview.shown)
        }
        func wait(until now: Instant) {
            while let due = ledger.nextDue, due <= now {
                take(decide([], &ledger, now: due))
                // Each due message was sent or has got a later time, so `nextDue` must be later now. If it is not, this guard
                // prevents an endless loop.
                guard ledger.nextDue.map({ $0 > due }) ?? true else { return }
            }
        }
        var rest = changes[...]
        while let first = rest.first {
            let now = first.committedAt ?? end
            let commit = rest.prefix { $0.committedAt == first.committedAt }
            rest = rest.dropFirst(commit.count)
            // Most changes concern earthquakes that never matched the rule, so they are skipped.
            let relevant = commit.filter { change in
                [change.before, change.after].contains { event in
                    event.map { ledger.standings[$0.key] != nil || rule.covers($0) } ?? false
                }
            }
            guard !relevant.isEmpty else { continue }
            wait(until: now)
            take(decide(Array(relevant), &ledger, now: now))
        }
        wait(until: end)
        return preview
    }

    /// How many of these earthquakes each rule matches, regardless of their age.
    public func counts(of events: [AlertEvent]) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: rules.map { rule in (rule.name, events.filter(rule.covers).count) })
    }
}
