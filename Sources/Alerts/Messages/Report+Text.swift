import Feed
import Foundation

// The text of a message says what happened, where and when, how far away the rules' places are, how strong the shaking may have
// been there, whether a person has reviewed the event, and why the receiver gets the message.

extension Report {
    /// Such as `M 5.2 earthquake 45 km SW of home`.
    var title: String {
        let before = earlier?.magnitude.map { "M \(rounded($0, 1))" }
        let was = before.map { $0 == size ? "" : ", was \($0)" } ?? ""
        return switch kind {
        case .new: "\(size) \(what)\(whereabouts)"
        case .risen: "\(size) \(what)\(whereabouts)\(was)"
        case .corrected: "Corrected: \(size) \(what)\(whereabouts)\(was)"
        case .noLonger: "No longer: \(size) \(what)\(whereabouts)\(was)"
        case .withdrawn: "Withdrawn: \(size) \(what)\(whereabouts)"
        }
    }

    /// - Parameter at: the time at which the message is decided.
    func text(zone: TimeZone, at: Instant) -> String {
        var lines = [summary, moment(zone) + (depth.map { ", \(Int($0.rounded())) km deep" } ?? "") + "."]
        if kind.isNews, at - time > .seconds(6 * 3600) {
            lines.append("This report is late: \(age(at)) after the earthquake.")
        }
        lines += near.map { sentence(about: $0) }
        switch kind {
        case .withdrawn:
            lines.append(
                "It was removed from the catalogue. It may not have happened, or it may be part of another earthquake."
            )
        case _ where isReviewed: lines.append("A person has reviewed it.")
        default: lines.append("It was located automatically. No person has reviewed it yet.")
        }
        for (rule, reason) in zip(rules, why) {
            lines.append(
                kind == .noLonger || kind == .withdrawn
                    ? "You got the first message because rule \(rule) asks for \(reason)."
                    : "Sent because rule \(rule) asks for \(reason).")
        }
        if let url { lines.append(url) }
        return lines.joined(separator: "\n")
    }

    private var size: String { magnitude.map { "M \(rounded($0, 1))" } ?? "Unknown magnitude:" }

    /// Such as `earthquake` or `quarry blast`.
    private var what: String { singleLine(type ?? "earthquake").lowercased() }

    /// The location relative to the nearest place of the rules, if that place is within 1,000 km; otherwise the agency's name for
    /// the region.
    private var whereabouts: String {
        if let nearest = near.first, nearest.distance <= 1000 { return " \(nearest.text)" }
        return place.map { ", \($0)" } ?? ", at \(coordinates)"
    }

    private var coordinates: String {
        "\(rounded(latitude, 2))°, \(rounded(longitude, 2))°"
    }

    private var summary: String {
        let type = magnitudeType.map { " (\(singleLine($0)))" } ?? ""
        let named = place ?? "at \(coordinates)"
        let now = magnitude.map { "magnitude \(rounded($0, 1))\(type)" } ?? "unknown magnitude"
        let was = earlier?.magnitude.map { rounded($0, 1) } ?? "unknown"
        return switch kind {
        case .new: "\(what.capitalizedFirst) of \(now), \(named)."
        case .risen: "\(what.capitalizedFirst) of \(now), previously \(was), \(named)."
        case .corrected: "Now \(now), reported before as \(was): \(named)\(moved)."
        case .noLonger where isExercise:
            "The \(what) of \(now), \(named), is now marked as a test or an exercise."
        case .noLonger:
            "Now \(now), reported before as \(was): \(named)\(moved). It no longer matches your rule."
        case .withdrawn: "The \(what) of \(now), \(named), is no longer in the catalogue."
        }
    }

    /// Such as `, 60 km from where it was`; empty if the epicentre has moved by less than 5 km.
    private var moved: String {
        guard let earlier else { return "" }
        let distance = Point(latitude: earlier.latitude, longitude: earlier.longitude)
            .distance(to: Point(latitude: latitude, longitude: longitude))
        return distance >= 5 ? ", \(Int(distance.rounded())) km from where it was" : ""
    }

    private func moment(_ zone: TimeZone) -> String {
        let offset = zone.offsetText(at: time)
        let local = "\(zone.localTime(at: time).shortText) \(offset)"
        return offset == "UTC" ? local : "\(local) (\(time.shortText.suffix("12:22:47".count)) UTC)"
    }

    private func age(_ at: Instant) -> String {
        let hours = Int((at - time) / .seconds(3600))
        return hours < 48 ? "\(hours) hours" : "\(hours / 24) days"
    }

    private func sentence(about near: Near) -> String {
        guard kind != .withdrawn, let intensity = near.intensity else {
            return "\(near.text.capitalizedFirst)."
        }
        guard let shaking = near.shaking else {
            return "\(near.text.capitalizedFirst). It was probably not felt there."
        }
        return
            "\(near.text.capitalizedFirst). \(shaking.capitalizedFirst) shaking possible there (MMI about \(intensity))."
    }

    // MARK: Digests

    static func digestTitle(_ reports: [Report]) -> String {
        guard let first = reports.first else { return "" }
        guard reports.allSatisfy(\.kind.isNews) else {
            return "\(reports.count) reports, the largest: \(first.title)"
        }
        return "\(reports.count) earthquakes, the largest \(first.size)\(first.whereabouts)"
    }

    static func digestText(_ reports: [Report], zone: TimeZone, at: Instant) -> String {
        let shown = 20
        var lines = reports.prefix(shown).map { "\($0.moment(zone)): \($0.title)." }
        if reports.count > shown { lines.append("And \(reports.count - shown) more.") }
        var seen: Set<String> = []
        let rules = reports.flatMap(\.rules).filter { seen.insert($0).inserted }
        lines.append(
            "Sent because of \(rules.count == 1 ? "rule" : "the rules") \(rules.joined(separator: ", ")).")
        return lines.joined(separator: "\n")
    }
}

extension Report.Near {
    /// Such as `45 km SW of home`.
    fileprivate var text: String {
        distance < 1 ? "less than 1 km from \(place)" : "\(distance) km \(direction) of \(place)"
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
