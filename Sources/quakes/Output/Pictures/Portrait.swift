import Charts
import Feed
import QuakeStore
import Synchronization

/// The data of a picture: the selected earthquakes, and what the caption says about them.
struct Portrait: Sendable {
    private(set) var events: [ChartEvent] = []
    /// How many events come from each service, by the service's host.
    private var counts: [String: Int] = [:]
    /// The agencies that the events come from.
    private var agencies: Set<String> = []
    private let isMerged: Bool
    private let hasMechanisms: Bool

    fileprivate init(isMerged: Bool, hasMechanisms: Bool) {
        (self.isMerged, self.hasMechanisms) = (isMerged, hasMechanisms)
    }

    fileprivate mutating func append(_ quake: Quake) {
        var event = ChartEvent(quake)
        if hasMechanisms { event.mechanism = FocalMechanism(quake)?.moment }
        events.append(event)
        if let agency = quake.agency { agencies.insert(agency) }
        if let service = FeedIdentity.host(of: quake[.url].text) { counts[service, default: 0] += 1 }
    }

    /// The five services with the most events, the largest number first.
    var services: [String] {
        counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(5).map(\.key)
    }

    private var credits: String? {
        if counts.isEmpty { return nil }
        let rest = counts.count - services.count
        return "Data: \(services.joined(separator: ", "))\(rest > 0 ? " and \(rest) more" : "")."
    }

    func caption(_ title: String, _ selection: [String], gaps: String? = nil, hasLand: Bool = false)
        -> Caption
    {
        var lines: [String] = []
        if agencies.count > 1, !isMerged {
            lines.append(
                "Events of \(agencies.count) agencies: earthquakes may be counted more than once (--merge counts each once)."
            )
        }
        if !selection.isEmpty { lines.append("Selection: \(selection.joined(separator: ", ")).") }
        lines.append(extent)
        if hasMechanisms {
            let count = events.count { $0.mechanism != nil }
            lines.append(
                "Focal mechanisms known: \(count) (lower hemisphere, equal area; coloured where the first motion was outwards)."
            )
        }
        if let gaps { lines.append(gaps) }
        let sources = [credits, hasLand ? "Coastlines: Natural Earth (public domain)." : nil].compactMap(
            \.self)
        if !sources.isEmpty { lines.append(sources.joined(separator: " ")) }
        return Caption(title: title, lines: lines.map(strippingControlCharacters))
    }

    var times: ClosedRange<Instant>? {
        let times = events.map(\.time)
        guard let first = times.min(), let last = times.max() else { return nil }
        return first...last
    }

    /// The days of the first and the last event, such as `30 Sep – 29 Oct 2025`; nil if there are no events.
    var days: String? {
        guard let times else { return nil }
        let (first, last) = (CivilDate(times.lowerBound), CivilDate(times.upperBound))
        if first == last { return first.words }
        let start = first.year == last.year ? String(first.words.dropLast(5)) : first.words
        return "\(start) – \(last.words)"
    }

    private var extent: String {
        guard let times else { return "No earthquakes match." }
        let (first, last) = (times.lowerBound.shortText, times.upperBound.shortText)
        return events.count == 1
            ? "1 event, \(first) UTC." : "\(events.count) events from \(first) to \(last) UTC."
    }
}

extension SelectionOptions {
    /// Reads the data of a picture of the selected earthquakes. If there are none, standard error says why.
    ///
    /// - Parameters:
    ///   - source: where to read the earthquakes.
    ///   - hasMechanisms: whether the picture shows the known mechanisms.
    ///   - admits: whether the picture shows an event.
    func portrait(
        of selection: QuakeSelection, in source: QuakeSource, hasMechanisms: Bool = false,
        if admits: @escaping @Sendable (Quake) -> Bool = { _ in true }
    ) async throws -> Portrait {
        let portrait = Mutex(Portrait(isMerged: merge, hasMechanisms: hasMechanisms))
        let whyEmpty = try await forEach(selection, in: source) { listed in
            if admits(listed.quake) { portrait.withLock { $0.append(listed.quake) } }
        }
        if let whyEmpty { StandardError.say(whyEmpty) }
        return portrait.withLock { $0 }
    }

    /// The title of a picture: what it shows, where and when, as far as there is room.
    ///
    /// - Parameters:
    ///   - subject: what a plot shows, such as `Magnitudes over time`; nil for a map.
    ///   - countsEarthquakes: whether the plot leaves out events of other types.
    func title(_ subject: String?, _ portrait: Portrait, countsEarthquakes: Bool = false) -> String {
        let isOfEarthquakes = countsEarthquakes || portrait.events.allSatisfy(\.isEarthquake)
        var kind =
            switch types {
            case ["earthquake"]: "earthquakes"
            case let types?: "\(types.joined(separator: " and ")) events"
            case nil: isOfEarthquakes ? "earthquakes" : "events"
            }
        if let magnitudes { kind += " of M \(magnitudes)" }
        var parts = [subject.map { "\($0): \(kind)" } ?? kind.prefix(1).uppercased() + kind.dropFirst()]
        parts += places
        if let days = portrait.days { parts.append(days) }
        return parts.dropFirst().reduce(parts[0]) {
            terminalWidth(of: $0) + terminalWidth(of: $1) > 84 ? $0 : "\($0), \($1)"
        }
    }

    private var magnitudes: String? { Self.range(minMagnitude, maxMagnitude) }

    private static func range(_ least: Double?, _ most: Double?) -> String? {
        switch (least, most) {
        case (let low?, let high?): "\(low) to \(high)"
        case (let low?, nil): "≥ \(low)"
        case (nil, let high?): "≤ \(high)"
        case (nil, nil): nil
        }
    }

    /// The selection in words, for a caption.
    var words: [String] {
        var words: [String] = []
        if let magnitudes { words.append("magnitude \(magnitudes)") }
        if let depths = Self.range(minDepth, maxDepth) { words.append("depth \(depths) km") }
        if let since { words.append("since \(since.instant.shortText)") }
        if let until { words.append("before \(until.end.shortText)") }
        if !codes.isEmpty { words.append(codes.joined(separator: ", ")) }
        if !type.isEmpty { words.append(type.joined(separator: " or ")) }
        words += places
        if merge { words.append("each earthquake once") }
        switch asOf {
        case .token(let token)?: words.append("as of token \(token)")
        case .position(let position)?: words.append("as of token \(position.token)")
        case .time(let time)?: words.append("as of \(time.instant.shortText)")
        case .millisecond(let instant)?: words.append("as of \(instant.shortText)")
        case nil: break
        }
        return words
    }

    /// The selected agencies and places, in words.
    private var places: [String] {
        var words = source.map { [$0] } ?? []
        if let place { words.append("place with “\(place.text)”") }
        if let near, let within { words.append("within \(within) km of \(near.words)") }
        if let box { words.append("box \(box.south), \(box.west) to \(box.north), \(box.east)") }
        return words
    }
}

extension Quake {
    /// The agency that the event comes from; nil for an unknown network, such as those of the synthetic feed.
    fileprivate var agency: String? {
        guard let network = self[.net].text else { return nil }
        let name = Agency.name(ofNetwork: network)
        return Agency.named(name) != nil || code.contains(":") ? name : nil
    }
}
