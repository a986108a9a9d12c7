import Feed
import QuakeStore

/// A summary feed, made from the catalogue (https://earthquake.usgs.gov/earthquakes/feed/v1.0/). The USGS's own paths serve only
/// events of the USGS. The path of any other feed has the agency's name, or `all`, in front of the feed's name:
/// `summary/gfz/all_day.geojson`.
///
/// If the catalogue follows the USGS's feeds, a feed of the USGS has the `url` that it has at the USGS. Its `generated` is copied
/// from the newest settled document that covers the feed. So the feed is never dated later than the catalogue's data, and another
/// Quakes server can import and settle the feed like the USGS's own. Any other feed is dated with the current minute and has a
/// URL of this server. That URL contains the agency's name, so an import does not recognise the document as a summary feed, and
/// deletes no events.
struct SummaryFeed: Sendable, Equatable {
    /// The feed's name, such as `all_day`.
    let name: String
    private let form: Form
    /// The agency whose events the feed contains; nil for all agencies.
    private let agency: Agency?
    private let size: Substring
    private let period: Period

    enum Form: Sendable, Equatable {
        case geojson, csv, quakeml, atom
        case kml(EventKML.Form)

        static let endings: [(ending: String, form: Form)] =
            [(".geojson", .geojson), (".csv", .csv), (".quakeml", .quakeml), (".atom", .atom)]
            + EventKML.Color.allCases.flatMap { color in
                [
                    ("_\(color).kml", .kml(EventKML.Form(color: color))),
                    ("_\(color)_animated.kml", .kml(EventKML.Form(color: color, isAnimated: true))),
                ]
            }

        fileprivate var contentType: String {
            switch self {
            case .geojson: EventFormat.geojson.contentType
            case .csv: EventFormat.csv.contentType
            case .quakeml: EventFormat.xml.contentType
            case .atom: "application/atom+xml; charset=utf-8"
            case .kml: EventFormat.kml.contentType
            }
        }

        /// Whether the document contains its own URL.
        fileprivate var namesServer: Bool { self != .csv && self != .quakeml }
    }

    private enum Period: String {
        case hour, day, week, month

        var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

        var milliseconds: Int64 {
            let day: Int64 = 86_400_000
            return switch self {
            case .hour: day / 24
            case .day: day
            case .week: 7 * day
            case .month: 30 * day
            }
        }
    }

    /// Returns nil if the USGS has no feed with this name.
    init?(_ name: String, _ form: Form = .geojson, of agency: Agency? = .usgs) {
        let parts = name.split(separator: "_")
        guard FeedSource.summaryFeeds.contains(name), parts.count == 2,
            let period = Period(rawValue: String(parts[1]))
        else { return nil }
        (self.name, self.form, self.agency) = (name, form, agency)
        (size, self.period) = (parts[0], period)
    }

    func answer(baseURL: String) -> Answer {
        Answer(
            key: "summary/\(folderName)/\(name) \(form)", contentType: form.contentType, cacheSeconds: 60,
            namesServer: form.namesServer,
            lane: mayBeMany ? .long : .short,
            edition: { state in
                let origin = origin(in: state, baseURL)
                return "\(origin.generated.milliseconds) \(origin.url)"
            },
            write: { connection, state, writer in
                let origin = origin(in: state, baseURL)
                let selected = try await selection(origin.generated)
                    .selected(on: connection, newest: state.position.token)
                let count = if case .geojson = form { try await selected.count() } else { 0 }
                let properties = writer.begin(encoder(origin, baseURL))
                writer.writeHead(of: count)
                try await selected.forEachRow(of: properties) { try writer.append(&$0) }
            })
    }

    private var folderName: String { agency?.name ?? "all" }

    private var owner: String { agency == .usgs ? "USGS" : agency?.title ?? "All agencies" }

    // MARK: Origin

    /// How much older than the newest document of the service a document may be to date a feed, in milliseconds.
    private static let longestDelay: Int64 = 86_400_000

    private struct Origin {
        let author: String
        /// The feed's URL, without the ending.
        let url: String
        let generated: Instant
    }

    private func origin(in state: CatalogueState, _ baseURL: String) -> Origin {
        let folder = "/earthquakes/feed/v1.0/summary"
        let service = Agency.usgs.host
        let documents = state.settled.filter { $0.service == service }
        let latest = documents.map(\.generated).max() ?? .now
        // A feed that is no longer imported does not date the feeds that it covers.
        let newest = documents.filter {
            covers($0.feed) && latest.milliseconds - $0.generated.milliseconds <= Self.longestDelay
        }
        .max { $0.generated < $1.generated }
        if agency == .usgs, let newest {
            return Origin(
                author: service, url: "https://\(service)\(folder)/\(name)", generated: newest.generated)
        }
        let now = Instant.now.milliseconds
        return Origin(
            author: owner, url: "\(baseURL)\(folder)/\(folderName)/\(name)",
            generated: Instant(milliseconds: now - now % 60_000))
    }

    /// Whether the USGS's feed with the name `feed` contains all events of this feed.
    private func covers(_ feed: String) -> Bool {
        guard let other = SummaryFeed(feed), other.period.milliseconds >= period.milliseconds else {
            return false
        }
        return other.size == size || other.size == "all"
    }

    // MARK: Content

    private func selection(_ generated: Instant) -> QuakeSelection {
        var selection = QuakeSelection()
        selection.agency = agency
        selection.since = Instant(milliseconds: generated.milliseconds - period.milliseconds)
        // Magnitudes are rounded to one decimal before they are compared, as at the USGS: its 2.5 feeds contain magnitude 2.45.
        if let size = Double("\(size)") {
            selection.ranges[.magnitude] = (((size - 0.05) * 100).rounded() / 100)...Double.infinity
        }
        // The events in the USGS's lists of significant events have about this significance or more
        // (https://earthquake.usgs.gov/earthquakes/browse/significant.php). The USGS's exact rule is unknown.
        if size == "significant" { selection.ranges[.sig] = 600...Double.infinity }
        return selection
    }

    /// Whether the feed may contain thousands of events. This is true for a month's feed, and for a week's feed that includes
    /// small earthquakes, but never for a feed of significant earthquakes.
    private var mayBeMany: Bool {
        size != "significant" && (period == .month || period == .week && ["all", "1.0"].contains(size))
    }

    private var title: String {
        let events =
            switch size {
            case "all": "All Earthquakes"
            case "significant": "Significant Earthquakes"
            default: "Magnitude \(size)+ Earthquakes"
            }
        return "\(owner)\(agency == .usgs ? "" : ":") \(events), Past \(period.title)"
    }

    private func encoder(_ origin: Origin, _ baseURL: String) -> any EventEncoder {
        let url = origin.url + (Form.endings.first { $0.form == form }?.ending ?? "")
        return switch form {
        case .geojson:
            EventGeoJSON(
                title: title, url: url, generated: origin.generated, api: "1.14.1", endsLine: true)
        case .csv: EventCSV()
        case .quakeml: EventXML()
        case .kml(let form):
            EventKML(form: form, title: title, url: url, now: origin.generated)
        case .atom:
            EventAtom(
                title: title, url: url, generated: origin.generated, author: origin.author,
                baseURL: baseURL)
        }
    }
}
