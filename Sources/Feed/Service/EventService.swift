/// An FDSN event service as a source: where it is, what it can do, and how often it may be asked
/// (https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf, https://earthquake.usgs.gov/fdsnws/event/1/).
public struct EventService: Sendable, Hashable {
    /// The name under which it is registered, such as `usgs`; nil for one that was given by its URL.
    public let name: String?
    /// Up to and including its version number, with a slash at the end.
    public let url: String
    /// How many events it gives at once.
    public var limit = 20_000
    /// What it can do, as far as that is known.
    public var abilities = Set(Ability.allCases)
    /// The shortest time from one sweep to the next.
    public var pace: Duration = .seconds(300)

    /// What the standard does not ask of a service.
    public enum Ability: String, Sendable, CaseIterable {
        /// `updatedafter`: which events were revised after a given time.
        case updates
        /// `includedeleted=only`: which events were deleted.
        case deletions
        /// The method `count`.
        case counts
    }

    init(name: String?, url: String) {
        (self.name, self.url) = (name, url)
    }

    public static let usgs = EventService(name: "usgs", url: "https://earthquake.usgs.gov/fdsnws/event/1/")

    /// The services that have a name.
    public static let registered = [usgs]

    /// - Parameter source: nil is returned if it is anything else, such as a feed.
    public init?(_ source: FeedSource) {
        guard case .url(let url) = source else { return nil }
        if let known = Self.registered.first(where: { $0.url == url }) {
            self = known
        } else if url.wholeMatch(of: #/[^?\#]*/fdsnws/event/\d+//#) != nil {
            self.init(name: nil, url: url)
        } else {
            return nil
        }
    }

    public var source: FeedSource { .url(url) }

    /// Whether what it can do is known. Of another one, that shows when it refuses something.
    public var isRegistered: Bool { name != nil }

    /// Its host, for which it speaks.
    public var host: String { FeedIdentity.host(of: url) ?? "" }
}
