import Feed
import Foundation
import QuakeStore

/// One earthquake as `quakes show` prints it.
struct ShownEvent: Sendable {
    let code: String
    /// nil if the event is not in the catalogue any more.
    var quake: Quake?
    /// Where history begins.
    var horizon: Horizon?
    /// The oldest first.
    var changes: [Change] = []

    init(code: String) { self.code = code }

    private var mechanism: FocalMechanism? { quake.flatMap(FocalMechanism.init) }

    /// The event's present code, if the event got another one.
    private var newCode: String? {
        guard quake == nil, let reason = changes.last?.reason, reason.hasPrefix("superseded by ") else {
            return nil
        }
        return String(reason.dropFirst("superseded by ".count))
    }

    // MARK: Text

    func text(at terminal: Terminal) -> String {
        var parts = [quake.map(Self.properties) ?? gone]
        if let mechanism { parts.append(mechanism.text) }
        let beginning = horizon.flatMap { $0.token > 0 ? "; \($0)" : nil } ?? ""
        parts.append(
            changes.isEmpty
                ? "no changes are kept\(beginning)\n"
                : "what became of it\(beginning)\n"
                    + changes.table(Change.columns(besides: nil), at: terminal))
        return parts.joined(separator: "\n")
    }

    private var gone: String {
        let words =
            newCode.map { "has the code \($0) now: quakes show \($0)" } ?? "is not in the catalogue any more"
        return strippingControlCharacters("\(code) \(words)") + "\n"
    }

    /// One line for each property that the event has.
    private static func properties(of quake: Quake) -> String {
        let head = quake[.title].text ?? quake[.place].text ?? quake.code
        let lines = Property.allCases.compactMap { property -> String? in
            // The title is already printed as the headline, and the mechanism is printed after the properties.
            guard property != .title, let text = quake[property].words(of: property) else { return nil }
            let name = property.column.replacing("_", with: " ")
            return "  \(name)\(String(repeating: " ", count: max(1, 16 - name.count)))\(text)"
        }
        return ([head] + lines).map { strippingControlCharacters($0) + "\n" }.joined()
    }

    // MARK: JSON

    var json: JSONObject {
        [
            "code": code, "event": quake?.json, "new_code": newCode, "focal_mechanism": mechanism?.json,
            "history_begins_after": horizon?.token, "changes": changes.map(\.json),
        ]
    }
}

extension Quake.Value {
    /// The value as people read it; nil if there is nothing to show.
    fileprivate func words(of property: Property) -> String? {
        switch (self, property) {
        case (.null, _): nil
        case (.time(let time), .time):
            "\(time) (\(Duration.milliseconds(Instant.now.milliseconds - time.milliseconds).rough) ago)"
        case (.time(let time), _): "\(time)"
        case (.number(let number), _): "\(number)\(property.unit)"
        case (.integer(let number), _): "\(number)\(property.unit)"
        case (.flag(let flag), _): flag ? "yes" : "no"
        case (.text(let text), _): text
        case (.list(let list), _): list.isEmpty ? nil : list.joined(separator: ", ")
        case (.json(let json), _): FocalMechanism.removed(from: json)
        }
    }
}

extension Property {
    fileprivate var unit: String {
        switch self {
        case .longitude, .latitude, .gap, .dmin: "°"
        case .depth: " km"
        case .rms: " s"
        case .tz: " min"
        default: ""
        }
    }
}

/// The focal mechanism, which says how the rock moved. It is read from `extra`, as in `report.focal_mechanism`.
private struct FocalMechanism {
    private let members: [String: Any]
    /// All members of the mechanism.
    let json: RawJSON

    private static let key = "focal_mechanism"

    init?(_ quake: Quake) {
        guard let extra = quake[.extra].json, let all = Self.object(extra),
            let members = all[Self.key] as? [String: Any], let text = Self.text(members)
        else { return nil }
        (self.members, json) = (members, RawJSON(text))
    }

    private func number(_ name: String) -> Double? { (members[name] as? NSNumber)?.doubleValue }

    var text: String {
        let made = ["agency", "evaluation_mode", "evaluation_status"].compactMap { members[$0] as? String }
        var lines = ["focal mechanism\(made.isEmpty ? "" : " (\(made.joined(separator: ", ")))")"]
        for plane in 1...2 {
            guard let strike = number("strike\(plane)"), let dip = number("dip\(plane)"),
                let rake = number("rake\(plane)")
            else { continue }
            lines.append(
                "  plane \(plane)         strike \(rounded(strike, 1))°, dip \(rounded(dip, 1))°, rake \(rounded(rake, 1))°"
            )
        }
        var moment: [String] = []
        if let magnitude = number("mw") { moment.append("Mw \(rounded(magnitude, 2))") }
        if let scalar = number("scalar_moment") { moment.append("\(shortened(number: "\(scalar)")) N m") }
        if let share = number("double_couple") { moment.append("double couple \(rounded(share * 100, 1)) %") }
        if !moment.isEmpty { lines.append("  moment          \(moment.joined(separator: ", "))") }
        let tensor = ["mrr", "mtt", "mpp", "mrt", "mrp", "mtp"].compactMap { name in
            number(name).map { "\(name) \(shortened(number: "\($0)"))" }
        }
        if !tensor.isEmpty { lines.append("  tensor in N m   \(tensor.joined(separator: ", "))") }
        return lines.map { strippingControlCharacters($0) + "\n" }.joined()
    }

    /// The JSON of `extra` without the mechanism; nil if nothing is left.
    static func removed(from json: String) -> String? {
        guard var all = object(json), all.removeValue(forKey: key) != nil else { return json }
        return all.isEmpty ? nil : text(all)
    }

    /// The JSON as an object; nil for any other JSON, which any writer of the table may have put there.
    private static func object(_ json: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(json.utf8))) as? [String: Any]
    }

    private static func text(_ object: [String: Any]) -> String? {
        (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]))
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
