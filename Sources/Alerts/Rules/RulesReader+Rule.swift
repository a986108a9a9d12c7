import Feed
import Foundation
import Yams

extension RulesReader {
    private static let keys = [
        "near", "magnitude", "intensity", "agencies", "tell", "max_age", "stations", "quiet", "to",
    ]

    mutating func readRule(_ entry: YAMLReader.Entry) -> Rule? {
        var rule = Rule(name: entry.key)
        let entries = yaml.entries(entry.value, of: "rule \(quoted(entry.key))", known: Self.keys)
        for each in entries {
            switch each.key {
            case "near": rule.places = readNear(each.value)
            case "magnitude": rule.ladder = readLadder(each.value)
            case "intensity": rule.intensity = number(each.value, "the intensity", in: 1...10)
            case "agencies":
                let names = yaml.list(each.value, "agencies").compactMap { yaml.text($0, "an agency") }
                rule.networks = Set(
                    names.flatMap { [$0] + (Agency.named($0.lowercased())?.networks ?? []) }.map {
                        $0.lowercased()
                    })
            case "tell": rule.kinds = readKinds(each.value)
            case "max_age": rule.maxAge = readAge(each.value) ?? rule.maxAge
            case "stations":
                rule.stations = number(each.value, "stations", in: 1...10_000).map { Int($0.rounded(.up)) }
            case "quiet": rule.quiet = readQuiet(each.value)
            case "to": rule.receivers = readReceivers(each.value)
            default: break
            }
        }
        check(rule, entry, given: Set(entries.map(\.key)))
        return rule
    }

    private mutating func check(_ rule: Rule, _ entry: YAMLReader.Entry, given: Set<String>) {
        let name = "rule \(quoted(rule.name))"
        if !given.contains("to") { yaml.note(entry.mark, "\(name) has no receiver; name one in \"to\"") }
        if given.isDisjoint(with: ["magnitude", "intensity"]) {
            yaml.note(entry.mark, "\(name) needs a magnitude or an intensity")
        }
        guard !given.contains("near") else { return }
        if rule.ladder.contains(where: { $0.within != nil }) || given.contains("intensity") {
            yaml.note(
                entry.mark, "\(name) has a distance or an intensity, but no place; name one in \"near\"")
        }
    }

    private mutating func number(_ node: Node, _ what: String, in range: ClosedRange<Double>) -> Double? {
        guard let text = yaml.text(node, what) else { return nil }
        if let number = decimal(text), range.contains(number) { return number }
        let (low, high) = (shortest(range.lowerBound), shortest(range.upperBound))
        yaml.note(node.mark, "\(what) must be a number from \(low) to \(high), without an exponent")
        return nil
    }

    /// Reads the entries of `near`. Each entry is a name from `places`, or a place written as in `places`.
    private mutating func readNear(_ node: Node) -> [Rule.Place] {
        yaml.list(node, "near").compactMap { node in
            guard let text = yaml.text(node, "a place") else { return nil }
            if let point = places[text] { return Rule.Place(text, point) }
            do {
                return Rule.Place(text, try point(text))
            } catch {
                let closest = closestSpelling(of: text, among: places.keys.sorted())
                let hint = closest.map { "unknown place \(quoted(text)); did you mean \(quoted($0))?" }
                yaml.note(node.mark, hint ?? "\(error)")
                return nil
            }
        }
    }

    // MARK: The ladder

    private mutating func readLadder(_ node: Node) -> [Rule.Step] {
        var steps: [Rule.Step] = []
        for node in yaml.list(node, "the ladder of magnitudes") {
            guard let text = yaml.text(node, "a magnitude") else { continue }
            guard let step = Self.step(text) else {
                yaml.note(
                    node.mark,
                    "\(quoted(text)) is not a magnitude condition; write 4.5, \"4.5 anywhere\" or \"4.5 within 100 km\""
                )
                continue
            }
            if !(-3...12).contains(step.magnitude) {
                yaml.note(node.mark, "a magnitude is between -3 and 12")
            } else if let within = step.within, !(0.1...20_016).contains(within) {
                yaml.note(
                    node.mark,
                    "a distance must be from 0.1 to 20016 km; for any distance, write \"anywhere\"")
            } else if let other = steps.first(where: { Self.covers($0, step) || Self.covers(step, $0) }) {
                let idle = Self.covers(other, step) ? step : other
                yaml.note(
                    node.mark, "the step M \(shortest(idle.magnitude)) has no effect: another one includes it"
                )
            } else {
                steps.append(step)
            }
        }
        return steps
    }

    /// Reads a step such as `4.5`, `4.5 anywhere` or `4.5 within 100 km`, each with or without `M` in front.
    private static func step(_ text: String) -> Rule.Step? {
        var words = text.split(separator: " ").map(String.init)
        if words.first?.lowercased() == "m" { words.removeFirst() }
        guard let magnitude = words.first.flatMap(decimal) else { return nil }
        switch words.dropFirst().map({ $0.lowercased() }) {
        case [], ["anywhere"]: return Rule.Step(magnitude)
        case let rest where rest.count == 3 && rest[0] == "within" && rest[2] == "km":
            return decimal(rest[1]).map { Rule.Step(magnitude, within: $0) }
        default: return nil
        }
    }

    private static func covers(_ one: Rule.Step, _ other: Rule.Step) -> Bool {
        one.magnitude <= other.magnitude && one.within ?? .infinity >= other.within ?? .infinity
    }

    // MARK: Other keys

    private mutating func readKinds(_ node: Node) -> Set<Kind> {
        let words = Kind.allCases.map(\.word)
        var kinds: Set<Kind> = []
        for node in yaml.list(node, "tell") {
            guard let text = yaml.text(node, "a kind") else { continue }
            if let kind = Kind.allCases.first(where: { $0.word == text || $0.rawValue == text }) {
                kinds.insert(kind)
            } else {
                yaml.note(node.mark, "unknown kind \(quoted(text))\(yaml.hint(text, words))")
            }
        }
        if !kinds.isEmpty, !kinds.contains(where: \.isNews) {
            yaml.note(
                node.mark,
                "\"tell\" must include \"new\" or \"risen\": messages of the other kinds only follow an earlier message"
            )
        }
        return kinds
    }

    private mutating func readAge(_ node: Node) -> Duration? {
        guard let text = yaml.text(node, "max_age") else { return nil }
        if let age = TimeLength(text)?.duration, (.seconds(60)...Ledger.memory).contains(age) { return age }
        yaml.note(node.mark, "max_age must be a time from 1m to 30d, such as 45m, 6h or 7d")
        return nil
    }

    private mutating func readReceivers(_ node: Node) -> [String] {
        yaml.list(node, "to").compactMap { node in
            guard let name = yaml.text(node, "a receiver") else { return nil }
            if receiverNames.contains(name) { return name }
            yaml.note(node.mark, "unknown receiver \(quoted(name))\(yaml.hint(name, receiverNames))")
            return nil
        }
    }

    private mutating func readQuiet(_ node: Node) -> QuietHours? {
        let what = "quiet hours"
        var (from, to, zone): (Int?, Int?, TimeZone?) = (nil, nil, fileZone)
        var action = QuietHours.Action.defer
        let entries = yaml.entries(node, of: what, known: ["from", "to", "zone", "then"])
        for entry in entries {
            switch entry.key {
            case "from": from = timeOfDay(entry.value, upTo: 1439)
            case "to": to = timeOfDay(entry.value, upTo: 1440)
            case "zone": zone = readZone(entry.value)
            default:
                guard let text = yaml.text(entry.value, "then") else { continue }
                if let known = QuietHours.Action(rawValue: text) {
                    action = known
                } else {
                    yaml.note(
                        entry.value.mark, "\"then\" must be \"defer\" or \"drop\", not \(quoted(text))")
                }
            }
        }
        for key in ["from", "to"] where !entries.isEmpty && !entries.contains(where: { $0.key == key }) {
            yaml.note(node.mark, "\(what) need \"\(key)\", such as \(key): 22:00")
        }
        guard let from, let to, let zone else { return nil }
        if from == to || to - from == 1440 {
            yaml.note(node.mark, "\(what) of a whole day would never end")
        }
        return QuietHours(from: from, to: to, zone: zone, action: action)
    }

    /// Reads a time of day, and returns it in minutes after midnight.
    private mutating func timeOfDay(_ node: Node, upTo limit: Int) -> Int? {
        guard let text = yaml.text(node, "a time of day") else { return nil }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.count == 2 && $0.utf8.allSatisfy(\.isDigit) ? Int($0) : nil }
        if parts.count == 2, numbers.count == 2, numbers[1] < 60, numbers[0] * 60 + numbers[1] <= limit {
            return numbers[0] * 60 + numbers[1]
        }
        yaml.note(node.mark, "\(quoted(text)) is not a time of day, such as 07:00 or 22:30")
        return nil
    }
}

/// The number as text, without `.0` if it is whole: `4` or `4.5`.
func shortest(_ number: Double) -> String {
    Int(exactly: number).map { "\($0)" } ?? "\(number)"
}
