import Charts
import Feed

/// What a picture needs of the selected earthquakes: they themselves, and what the caption says about them.
struct Portrait: Sendable {
    private(set) var events: [ChartEvent] = []
    private var services: Set<String> = []

    mutating func append(_ quake: Quake) {
        events.append(ChartEvent(quake))
        if services.count < 5, let service = FeedIdentity.host(of: quake[.url].text) {
            services.insert(service)
        }
    }

    /// - Parameters:
    ///   - selection: what was selected, in words; empty for all.
    ///   - hasLand: whether coastlines are drawn.
    func caption(_ title: String, _ selection: [String], hasLand: Bool = false) -> Caption {
        var lines: [String] = []
        if !selection.isEmpty { lines.append("Selection: \(selection.joined(separator: ", ")).") }
        lines.append(extent)
        var sources: [String] = []
        if !services.isEmpty { sources.append("Data: \(services.sorted().joined(separator: ", ")).") }
        if hasLand { sources.append("Coastlines: Natural Earth (public domain).") }
        if !sources.isEmpty { lines.append(sources.joined(separator: " ")) }
        return Caption(title: title, lines: lines.map(strippingControlCharacters))
    }

    /// How many there are, and from when to when.
    private var extent: String {
        let times = events.map(\.time)
        guard let first = times.min(), let last = times.max() else { return "No earthquakes match." }
        if events.count == 1 { return "1 event, \(first.shortText) UTC." }
        return "\(events.count) events from \(first.shortText) to \(last.shortText) UTC."
    }
}

extension SelectionOptions {
    /// What is selected, in words for a caption.
    var words: [String] {
        var words: [String] = []
        switch (minMagnitude, maxMagnitude) {
        case (let low?, let high?): words.append("magnitude \(low) to \(high)")
        case (let low?, nil): words.append("magnitude ≥ \(low)")
        case (nil, let high?): words.append("magnitude ≤ \(high)")
        case (nil, nil): break
        }
        if let since { words.append("since \(since.instant.shortText)") }
        if let until { words.append("before \(until.end.shortText)") }
        if !type.isEmpty { words.append(type.joined(separator: " or ")) }
        if let place { words.append("place with “\(place.text)”") }
        if let near, let within { words.append("within \(within) km of \(near.latitude), \(near.longitude)") }
        if let box {
            words.append("box \(box.south), \(box.west) to \(box.north), \(box.east)")
        }
        switch asOf {
        case .token(let token)?: words.append("as of token \(token)")
        case .position(let position)?: words.append("as of token \(position.token)")
        case .time(let time)?: words.append("as of \(time.instant.shortText)")
        case .millisecond(let instant)?: words.append("as of \(instant.shortText)")
        case nil: break
        }
        return words
    }
}
