/// An FDSN event service as a source: its URL, its abilities, and how often it may be swept
/// (https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf, https://earthquake.usgs.gov/fdsnws/event/1/).
public struct EventService: Sendable, Hashable {
    /// The name of a registered service, such as `usgs`; nil for any other service.
    public private(set) var name: String?
    /// The URL up to and including the version number, with a slash at the end.
    public private(set) var url: String
    /// The greatest number of events in a response.
    public var limit = 20_000
    public var abilities = Set(Ability.allCases)
    /// The format to request if the service does not offer GeoJSON in the USGS's form.
    private var otherFormat = "text"
    /// The shortest time from one sweep to the next.
    public var pace: Duration = .seconds(300)
    /// For a service that does not support `updatedafter`. Each sweep requests `daysEach` days of origin times, and one sweep a
    /// day requests `daysDaily` days.
    public private(set) var (daysEach, daysDaily) = (3, 30)

    /// An ability that the standard does not require.
    public enum Ability: String, Sendable, CaseIterable {
        /// `updatedafter`: selects the events that were revised after a given time.
        case updates
        /// `includedeleted=only`: selects the deleted events.
        case deletions
        /// The method `count`.
        case counts
        /// GeoJSON in the USGS's form. From a service without this ability, another format is requested, usually the standard's
        /// text.
        case geojson
        /// `limit`: sets the greatest number of events in a response.
        case limits
    }

    public var format: String { abilities.contains(.geojson) ? "geojson" : otherFormat }

    init(name: String?, url: String) {
        (self.name, self.url) = (name, url)
    }

    public static let usgs = EventService(name: "usgs", url: Agency.usgs.service)

    /// The services of `Agency.known` that `quakes import` accepts by name.
    public static let registered = Agency.known.compactMap(EventService.init(of:))

    private init?(of agency: Agency) {
        guard let lacks = agency.serviceLacks else { return nil }
        self.init(name: agency.name, url: agency.service)
        abilities.subtract(lacks)
        (otherFormat, pace) = (agency.format, agency.pace)
        if let days = agency.days { (daysEach, daysDaily) = (days, days) }
    }

    public init?(_ source: FeedSource) {
        guard case .url(let url) = source else { return nil }
        let secure = url.replacing("http:", with: "https:")
        if let known = Self.registered.first(where: { $0.url == secure }) {
            self = known
            if url != secure { (self.name, self.url) = (nil, url) }
        } else if url.wholeMatch(of: #/[^?\#]*/fdsnws/event/\d+//#) != nil {
            self.init(name: nil, url: url)
        } else {
            return nil
        }
    }

    public var source: FeedSource { .url(url) }

    /// Whether the service is known to have all abilities, so that a refused request is a failure. From any other service, a
    /// refusal only shows that an ability is missing.
    public var isComplete: Bool { url == Self.usgs.url }

    public var host: String { FeedIdentity.host(of: url) ?? "" }
}
