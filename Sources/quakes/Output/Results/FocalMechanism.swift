import Charts
import Feed
import Foundation

/// The focal mechanism, which says how the rock moved. It is read from `extra`, as in `report.focal_mechanism`.
struct FocalMechanism {
    private let members: [String: Any]
    /// All members of the mechanism.
    let json: RawJSON

    private static let key = "focal_mechanism"

    init?(_ quake: Quake) {
        guard let extra = quake[.extra].json, extra.contains(Self.key), let all = Self.object(extra),
            let members = all[Self.key] as? [String: Any], let text = Self.text(members)
        else { return nil }
        (self.members, json) = (members, RawJSON(text))
    }

    private func number(_ name: String) -> Double? { (members[name] as? NSNumber)?.doubleValue }

    /// The moment tensor if all six elements are known, or else the double couple of a known plane; nil if no plane is known
    /// either.
    var moment: MomentTensor? {
        let elements = ["mrr", "mtt", "mpp", "mrt", "mrp", "mtp"].compactMap(number)
        if elements.count == 6,
            let tensor = MomentTensor(
                rr: elements[0], tt: elements[1], pp: elements[2], rt: elements[3], rp: elements[4],
                tp: elements[5])
        {
            return tensor
        }
        return (1...2).lazy.compactMap { plane in
            let angles = ["strike", "dip", "rake"].compactMap { number("\($0)\(plane)") }
            return angles.count == 3
                ? MomentTensor(strike: angles[0], dip: angles[1], rake: angles[2]) : nil
        }.first
    }

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

    /// The JSON of `extra` without the focal mechanism; nil if the mechanism is its only member.
    static func removed(from json: String) -> String? {
        guard var all = object(json), all.removeValue(forKey: key) != nil else { return json }
        return all.isEmpty ? nil : text(all)
    }

    /// nil if the JSON is not an object. The table has only objects there, but the file of a view may have anything.
    private static func object(_ json: String) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(json.utf8))) as? [String: Any]
    }

    private static func text(_ object: [String: Any]) -> String? {
        (try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes]))
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
