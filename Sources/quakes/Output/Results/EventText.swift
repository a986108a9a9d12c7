import Feed
import Foundation
import QuakeStore

/// One earthquake as `quakes show` prints it.
struct ShownEvent: Sendable {
    let code: String
    /// nil if the event is not in the catalogue any more.
    var quake: Quake?
    /// Where the history begins: the last transaction whose changes were pruned.
    var horizon: Horizon?
    /// The changes of the event, the oldest first.
    var changes: [Change] = []

    private var mechanism: FocalMechanism? { quake.flatMap(FocalMechanism.init) }

    /// The event's present code, if the event got a new code.
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
                : "changes\(beginning)\n"
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
            "\(time) (\(Duration.milliseconds(Instant.now.milliseconds - time.milliseconds).ago))"
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
