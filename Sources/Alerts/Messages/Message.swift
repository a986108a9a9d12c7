import Feed
import Foundation

/// A message to one receiver, as text and as values. Commands and webhooks receive it as JSON.
///
/// The text is written when the message is decided, so all delivery attempts send the same text.
public struct Message: Sendable, Equatable, Codable {
    /// The same id for all attempts. If the message is decided again after a restore of the database, it gets the same id again.
    /// The id consists of letters, digits, `_`, `-`, `:` and `%`.
    public let id: String
    /// The receiver's name.
    public let receiver: String
    /// `earthquake.new`, `earthquake.risen`, `earthquake.corrected`, `earthquake.no_longer`, `earthquake.withdrawn`,
    /// `earthquakes.digest`, or `test`.
    public let type: String
    public let at: Instant
    public let title: String
    /// Several lines, without the title.
    public let text: String
    /// The priority on ntfy's scale from 1 to 5: 3 is usual, 5 is for strong shaking or a magnitude of at least 7.
    public let priority: Int
    /// The agency's page about the earthquake; nil for a digest.
    public let url: String?
    /// The id of the first message about the earthquake. In the first message it equals `id`.
    public let thread: String
    /// The earthquake of the message. A digest has several, the largest first, and a test message has none.
    public let earthquakes: [Report]
    /// The number of the digest's earthquakes that are not in `earthquakes`.
    public let omitted: Int

    /// The largest number of earthquakes in a digest. This limit keeps the digest below 64 kB.
    public static let listed = 50

    init(_ reports: [Report], to receiver: String, thread: String?, zone: TimeZone, at: Instant) {
        self.receiver = receiver
        self.at = at
        earthquakes = Array(reports.prefix(Self.listed))
        omitted = reports.count - earthquakes.count
        priority = reports.map(\.priority).max() ?? 3
        if reports.count == 1, let report = reports.first {
            id = report.id
            type = "earthquake.\(report.kind.rawValue)"
            title = report.title
            text = report.text(zone: zone, at: at)
            url = report.url
        } else {
            id = "\(receiver):digest:\(fingerprint(of: reports))"
            type = "earthquakes.digest"
            title = Report.digestTitle(reports)
            text = Report.digestText(reports, zone: zone, at: at)
            url = nil
        }
        self.thread = thread ?? id
    }

    /// The message that `quakes notify --test` sends.
    public init(testFor receiver: String, at: Instant) {
        id = "\(receiver):test:\(at.milliseconds)"
        (self.receiver, self.at, type, priority, url) = (receiver, at, "test", 3, nil)
        title = "A test message from Quakes"
        text = "Earthquakes will be reported like this. Nothing has happened."
        (thread, earthquakes, omitted) = (id, [], 0)
    }
}

/// One earthquake within a message.
public struct Report: Sendable, Equatable, Codable {
    /// The id is the same in all attempts, alone and in a digest. So a receiver can recognise a report that it gets twice.
    public let id: String
    public let kind: Kind
    /// The number of reports that the receiver has got about the earthquake, including this one.
    public let count: Int
    /// The earthquake's key, which stays the same when another agency's row is preferred.
    public let earthquake: String
    public let code: String
    public let agencies: [String]
    /// The feed's event type: `earthquake`, or another one such as `explosion`.
    public let type: String?
    public let magnitude: Double?
    public let magnitudeType: String?
    public let place: String?
    public let time: Instant
    public let latitude: Double
    public let longitude: Double
    public let depth: Double?
    public let status: String?
    public let isReviewed: Bool
    /// Whether the earthquake is marked as a test, an exercise or a scenario. Receivers get messages about such an event only if
    /// they got a message before the event was marked.
    public let isExercise: Bool
    public let url: String?
    /// The values in the receiver's previous message. If there was none, the values before the revision that made the earthquake
    /// match; nil for the kind `new`.
    public let earlier: Earlier?
    /// The rules' places nearest to the epicentre, at most five, the nearest first.
    public let near: [Near]
    /// The names of the rules that matched.
    public let rules: [String]
    /// The reason why each rule matched, in the order of `rules`.
    public let why: [String]

    public struct Earlier: Sendable, Equatable, Codable {
        public let magnitude: Double?
        public let latitude: Double
        public let longitude: Double
    }

    public struct Near: Sendable, Equatable, Codable {
        public let place: String
        /// Whole kilometres.
        public let distance: Int
        /// The direction from the place to the epicentre, such as `SW`.
        public let direction: String
        /// The estimated intensity at the place (MMI), a whole number.
        public let intensity: Int?
        /// The word for the shaking, such as `light`; nil if the shaking is probably not felt.
        public let shaking: String?

        private enum CodingKeys: String, CodingKey {
            case place, direction, intensity, shaking
            case distance = "km"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, count, earthquake, code, agencies, type, magnitude, place, time, latitude, longitude
        case depth, status, url, earlier, near, rules, why
        case magnitudeType = "magnitude_type"
        case isReviewed = "is_reviewed"
        case isExercise = "is_exercise"
    }

    init(_ verdict: Verdict, receiver: String, count: Int) {
        let event = verdict.event
        id = "\(receiver):\(escaped(event.key.text)):\(count)-\(verdict.kind.rawValue)"
        (kind, self.count, earthquake, code) = (verdict.kind, count, event.key.text, event.code.text)
        (agencies, type, magnitude, magnitudeType) = (
            event.agencies, event.type, event.magnitude, event.magnitudeType
        )
        (place, time, latitude, longitude) = (
            event.place.map(singleLine), event.time, event.latitude, event.longitude
        )
        (depth, status) = (event.depth, event.status)
        url = event.url.flatMap(webAddress)
        (isReviewed, isExercise) = (event.isReviewed, event.isExercise)
        earlier = verdict.earlier.map {
            Earlier(magnitude: $0.magnitude, latitude: $0.latitude, longitude: $0.longitude)
        }
        near = Self.near(event, verdict.rules.flatMap(\.places))
        rules = verdict.rules.map(\.name)
        // If the earthquake no longer matches, the reasons come from the values in the receiver's previous message.
        let decisive = verdict.kind == .noLonger ? verdict.earlier ?? event : event
        why = verdict.rules.compactMap { $0.reason(decisive) }
    }

    private static func near(_ event: AlertEvent, _ places: [Rule.Place]) -> [Near] {
        var seen: Set<String> = []
        return places.filter { seen.insert($0.name).inserted }
            .map { (place: $0, distance: $0.point.distance(to: event.point)) }
            .sorted { $0.distance < $1.distance }.prefix(5)
            .map { place, distance in
                let shaking = event.magnitude.map {
                    ShakingIntensity(magnitude: $0, distance: distance, depth: event.depth)
                }
                return Near(
                    place: place.name, distance: Int(distance.rounded()),
                    direction: place.point.direction(to: event.point), intensity: shaking?.degree,
                    shaking: shaking?.word)
            }
    }

    var priority: Int {
        guard kind.isNews || kind == .corrected else { return 3 }
        let intensity = near.compactMap(\.intensity).max() ?? 0
        let magnitude = magnitude ?? 0
        return intensity >= 6 || magnitude >= 7 ? 5 : intensity >= 4 || magnitude >= 6 ? 4 : 3
    }
}

/// Escapes a text for an id: each byte other than letters, digits, `_`, `-` and `:` becomes `%` and two hexadecimal digits.
func escaped(_ text: String) -> String {
    var escaped: [UInt8] = []
    escaped.append(escaped: text.utf8, by: "%", keeping: "_-:")
    return String(decoding: escaped, as: UTF8.self)
}

/// A hash of the reports' ids that does not depend on their order. It is not cryptographic.
private func fingerprint(of reports: [Report]) -> String {
    Array(reports.map(\.id).sorted().joined(separator: "\n").utf8).hashText
}

/// The URL of a page; nil for any other text, because a reader of a message may open it.
private func webAddress(_ text: String) -> String? {
    let isWeb = text.hasPrefix("https://") || text.hasPrefix("http://")
    return isWeb && singleLine(text) == text && !text.contains(where: \.isWhitespace) ? text : nil
}

/// A feed's text with line breaks and other control characters replaced by spaces.
func singleLine(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
        let category = scalar.properties.generalCategory
        return [.control, .lineSeparator, .paragraphSeparator].contains(category) ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars)).trimmed
}
