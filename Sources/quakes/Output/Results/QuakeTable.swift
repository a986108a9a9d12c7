import Feed
import QuakeStore

extension Quake {
    /// The columns of a table for people.
    ///
    /// - Parameter near: if given, a column shows the distance from its centre.
    static func columns(near: QuakeSelection.Circle?, times: TimeZoneText) -> [Column<Quake>] {
        let distance = near.map { near in
            Column<Quake>("km away", .right, priority: 1) {
                rounded(near.distance(toLatitude: $0.latitude, longitude: $0.longitude), 1)
            }
        }
        return [
            Column("time (\(times.rawValue))") { times.text($0.time) },
            Column("mag", .right) {
                $0.magnitude.map { rounded($0, 1) } ?? ""
            } style: {
                TextStyle(magnitude: $0.magnitude)
            },
            Column("mag type", priority: 3) { $0[.magnitudeType].text ?? "" },
            // The type `earthquake` is left out, because nearly all events have it.
            Column("type", priority: 1) { quake in
                quake[.type].text.flatMap { $0 == "earthquake" ? nil : $0 } ?? ""
            },
            Column("depth km", .right, priority: 2) { $0.depth.map { rounded($0, 1) } ?? "" },
            Column("place", minimumWidth: 28, flexible: true, breaking: .beforeTail) {
                $0[.place].text ?? ""
            },
        ] + (distance.map { [$0] } ?? []) + [
            Column("alert", priority: 4) {
                $0[.alert].text ?? ""
            } style: {
                TextStyle(alert: $0[.alert].text)
            },
            Column("lat", .right, priority: 5) { rounded($0.latitude, 3) },
            Column("lon", .right, priority: 5) { rounded($0.longitude, 3) },
            Column("felt", .right, priority: 6) { $0[.felt].integer.map { "\($0)" } ?? "" },
            Column("status", priority: 7) { $0[.status].text ?? "" },
            Column("updated", priority: 8) { times.text($0.updated) },
            Column("url", priority: 8) { $0[.url].text ?? "" },
            Column("code") {
                $0.code
            } link: {
                TextLink($0[.url].text)
            },
        ]
    }
}

/// A number for people, with at most three digits after the decimal point, or five if it is small. Very small and very large
/// numbers have an exponent.
func shortened(number text: String) -> String {
    guard let value = Double(text), value.isFinite, value != 0 else { return text }
    var mantissa = value
    var exponent = 0
    while abs(mantissa) >= 10 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
    while abs(mantissa) < 1 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
    if (-3...6).contains(exponent) {
        let plain = rounded(value, exponent < -1 ? 5 : 3)
        return text.count < plain.count ? text : plain
    }
    return "\(rounded(mantissa, 3))e\(exponent)"
}
