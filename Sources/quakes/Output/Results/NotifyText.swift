import Alerts
import Feed
import QuakeStore

extension ToldMessage {
    static var columns: [Column<ToldMessage>] {
        [
            Column("told (UTC)") { $0.createdAt.shortText },
            Column("receiver") { $0.message.receiver },
            Column("message", minimumWidth: 30, flexible: true, widest: 1000) { $0.message.title },
            Column("why", priority: 1, widest: 1000) { $0.why },
            Column("state", priority: 2, widest: 1000) { $0.stateText },
        ]
    }

    /// The rules that matched. For a single earthquake, each rule has its reason, such as `near: M 4 or more within 100 km of
    /// home`; for several earthquakes, only the names of the rules are given.
    private var why: String {
        var seen: Set<String> = []
        return message.earthquakes.flatMap { zip($0.rules, $0.why) }
            .map { rule, reason in message.earthquakes.count == 1 ? "\(rule): \(reason)" : rule }
            .filter { seen.insert($0).inserted }.joined(separator: "; ")
    }

    private var stateText: String {
        func because(_ reason: String?) -> String { reason.map { ": \($0)" } ?? "" }
        return switch state {
        case .delivered(let at): "delivered \(at.shortText)"
        case .waiting(let next, let reason):
            attempts == 0 ? "waits" : "attempt \(attempts + 1) at \(next.shortText)\(because(reason))"
        case .givenUp(let at, let reason): "given up \(at.shortText)\(because(reason))"
        }
    }

    var json: JSONObject {
        var object: JSONObject = [
            "id": message.id, "told_at": createdAt, "receiver": message.receiver, "type": message.type,
            "title": message.title, "why": why, "attempts": attempts,
        ]
        switch state {
        case .delivered(let at): object.append("delivered_at", at)
        case .waiting(let next, let reason):
            object.append("next_attempt_at", next)
            object.append("reason", reason)
        case .givenUp(let at, let reason):
            object.append("given_up_at", at)
            object.append("reason", reason)
        }
        return object
    }
}

extension NotifyPreview {
    func text(at terminal: Terminal) -> String {
        let rows = rules.map { rule in Row(rule: rule, catalogued: catalogued[rule.rule] ?? 0) }
        var text = """
            The rules are valid. According to the history, between \(start.shortText) and \(end.shortText) UTC they would have sent:

            \(rows.table(Self.columns, at: terminal))
            """
        for rule in rules where !rule.latest.isEmpty {
            text += "\nThe latest messages of \(rule.rule):\n"
            for (at, title) in rule.latest {
                text += strippingControlCharacters("    \(at.shortText)  \(title)") + "\n"
            }
        }
        return text
    }

    private struct Row {
        let rule: RulePreview
        let catalogued: Int

        func count(_ kind: Kind) -> String { "\(rule.kinds[kind] ?? 0)" }
    }

    private static var columns: [Column<Row>] {
        [
            Column("rule", minimumWidth: 10, flexible: true) { $0.rule.rule },
            Column("messages", .right) { "\($0.rule.messages)" },
            Column("new", .right) { $0.count(.new) },
            Column("risen", .right) { $0.count(.risen) },
            Column("corrected", .right) { $0.count(.corrected) },
            Column("no longer", .right) { $0.count(.noLonger) },
            Column("withdrawn", .right) { $0.count(.withdrawn) },
            Column("matching events", .right, priority: 1) { "\($0.catalogued)" },
        ]
    }
}

extension NotifyStatus {
    /// One line for each receiver.
    var text: String {
        receivers.map { receiver in
            var parts: [String] = []
            if receiver.waiting > 0 {
                let failing =
                    receiver.failing.map {
                        ", failing for \($0.rough)\(receiver.reason.map { " (\($0))" } ?? "")"
                    }
                parts.append(
                    "\(receiver.waiting) \(receiver.waiting == 1 ? "message waits" : "messages wait")\(failing ?? "")"
                )
            }
            if receiver.held > 0 { parts.append("\(receiver.held) held for later") }
            if receiver.givenUp > 0 {
                let reason = receiver.waiting == 0 ? receiver.reason.map { " (\($0))" } ?? "" : ""
                parts.append("\(receiver.givenUp) given up in 30 days\(reason)")
            }
            if let last = receiver.deliveredAt { parts.append("last delivery \(last.shortText) UTC") }
            return strippingControlCharacters(
                "notify to \(receiver.name): \(parts.isEmpty ? "nothing yet" : parts.joined(separator: "; "))"
            )
                + "\n"
        }.joined()
    }
}

extension NotifyStatus.Receiver {
    var json: JSONObject {
        [
            "name": name, "waiting": waiting, "held": held,
            "oldest_age_seconds": age.map { $0 / .seconds(1) },
            "failing_since": failingSince, "failing_seconds": failing.map { $0 / .seconds(1) },
            "reason": reason, "given_up": givenUp, "delivered_at": deliveredAt,
        ]
    }
}
