/// An FDSN event service as a source: where it is, what it can do, and how often it may be asked
/// (https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf, https://earthquake.usgs.gov/fdsnws/event/1/).
public struct EventService: Sendable, Hashable {
    /// The name under which it is registered, such as `usgs`; nil for one that was given by its URL.
    public private(set) var name: String?
    /// Up to and including its version number, with a slash at the end.
    public private(set) var url: String
    /// How many events it gives at once.
    public var limit = 20_000
    /// Its abilities, as far as they are known.
    public var abilities = Set(Ability.allCases)
    /// What `format` is, if it has no GeoJSON of the USGS's form.
    private var otherFormat = "text"
    /// The shortest time from one sweep to the next.
    public var pace: Duration = .seconds(300)
    /// How many days of origin times it is asked for each time, and how many once a day, if it does not support `updatedafter`.
    public var days = Days(each: 3, daily: 30)

    public struct Days: Sendable, Hashable {
        public let each: Int
        public let daily: Int
    }

    /// An ability that the standard does not require.
    public enum Ability: String, Sendable, CaseIterable {
        /// `updatedafter`: which events were revised after a given time.
        case updates
        /// `includedeleted=only`: which events were deleted.
        case deletions
        /// The method `count`.
        case counts
        /// GeoJSON of the USGS's form. Without it, the standard's text is read.
        case geojson
        /// `limit`: how many events to give at most.
        case limits
    }

    /// What it is asked for.
    public var format: String { abilities.contains(.geojson) ? "geojson" : otherFormat }

    init(name: String?, url: String) {
        (self.name, self.url) = (name, url)
    }

    public static let usgs = EventService(name: "usgs", url: "https://earthquake.usgs.gov/fdsnws/event/1/")

    public static let registered: [EventService] =
        [usgs]
        + [
            agency("emsc", lacking: [.geojson, .deletions, .counts], format: "json"),
            agency("gfz", lacking: bySeisComP), agency("sed", lacking: bySeisComP),
            agency("knmi", lacking: bySeisComP), agency("noa", lacking: bySeisComP),
            agency("resif", lacking: bySeisComP), agency("scedc", lacking: bySeisComP),
            agency("ncedc", lacking: bySeisComP),
            // It bans frequent clients.
            agency("ingv", lacking: bySeisComP, pace: .seconds(900)),
            agency("geonet", lacking: bySeisComP.union([.limits])),
            // Its bulletin grows for months.
            agency("isc", lacking: bySeisComP, pace: .seconds(86_400), days: 240),
        ].compactMap(\.self)

    private static let bySeisComP: Set<Ability> = [.geojson, .updates, .deletions, .counts]

    private static func agency(
        _ name: String, lacking: Set<Ability>, format: String = "text", pace: Duration = .seconds(300),
        days: Int? = nil
    ) -> EventService? {
        Agency.named(name).map { agency in
            var service = EventService(name: name, url: agency.service)
            service.abilities.subtract(lacking)
            (service.otherFormat, service.pace) = (format, pace)
            if let days { service.days = Days(each: days, daily: days) }
            return service
        }
    }

    /// - Parameter source: nil is returned if it is anything else, such as a feed.
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

    /// Whether it is known to have all abilities, so that a refusal is a failure. The refusals of others show their limits.
    public var isComplete: Bool { url == Self.usgs.url }

    /// Its host, whose events its documents may delete.
    public var host: String { FeedIdentity.host(of: url) ?? "" }
}
