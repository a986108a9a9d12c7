/// A URL without its parts that may be secret: user and password, the fragment, and all parameters except those of event
/// services, which are known to be harmless.
///
/// `https://host/feed?format=geojson&apikey=…` becomes `https://host/feed?format=geojson&…`. A URL that is already such a name
/// stays the same.
struct SourceName: CustomStringConvertible {
    let description: String
    let hidesParameters: Bool
    /// Whether the URL was already such a name. If so, it cannot be fetched.
    let wasName: Bool

    private static let hidden: Substring = "…"

    init(_ url: String) {
        // The URL is read by scalars, so that a combining mark does not hide the ? or & before it.
        let url = url.withoutUserInfo.unicodeScalars.prefix { $0 != "#" }
        let base = url.prefix { $0 != "?" }
        guard base.endIndex < url.endIndex else {
            (description, hidesParameters, wasName) = (String(base), false, false)
            return
        }
        let query = url[base.endIndex...].dropFirst()
        let parameters = query.split(separator: "&", omittingEmptySubsequences: false).map(Substring.init)
        let shown = parameters.filter(Self.isHarmless)
        let left = parameters.filter { !Self.isHarmless($0) }
        hidesParameters = !left.isEmpty
        wasName = left == [Self.hidden]
        description =
            "\(String(base))?\(left.isEmpty ? String(query) : (shown + [Self.hidden]).joined(separator: "&"))"
    }

    /// Whether a parameter belongs to event services, and its value has only characters that values of such parameters need.
    private static func isHarmless(_ parameter: Substring) -> Bool {
        guard let match = parameter.wholeMatch(of: #/([a-z]+)=([A-Za-z0-9.,:+_*%-]*)/#) else {
            return parameter.isEmpty
        }
        return eventServiceParameters.contains(match.1)
    }

    /// https://www.fdsn.org/webservices/fdsnws-event-1.2.pdf and https://earthquake.usgs.gov/fdsnws/event/1/
    private static let eventServiceParameters: Set<Substring> = [
        "alertlevel", "asof", "catalog", "contributor", "end", "endtime", "eventid", "eventtype", "format",
        "includeallmagnitudes", "includeallorigins", "includearrivals", "includedeleted", "includesuperseded",
        "lat", "latitude", "limit", "lon", "longitude", "magnitudetype", "magtype", "maxcdi", "maxdepth",
        "maxgap", "maxlat", "maxlatitude", "maxlon", "maxlongitude", "maxmag", "maxmagnitude", "maxmmi",
        "maxradius", "maxradiuskm", "maxsig", "mincdi", "mindepth", "minfelt", "mingap", "minlat",
        "minlatitude", "minlon", "minlongitude", "minmag", "minmagnitude", "minmmi", "minradius", "minsig",
        "nodata", "offset", "orderby", "productcode", "producttype", "reviewstatus", "start", "starttime",
        "updatedafter",
    ]
}
