import Feed
import QuakeML
import QuakeStore

struct EventRequest: Sendable {
    let format: EventFormat
    /// The status of an answer without events: 204, 404, or nil for the format's default.
    let noData: Int?
    var selection: QuakeSelection
    /// The requested event's ID, if the request names exactly one ID.
    var eventID: String?
    let maximum: Int
    /// The JavaScript function that the answer calls with its GeoJSON; nil for plain GeoJSON.
    let callback: String?
    let kml: EventKML.Form
    /// Whether events in GeoJSON have the property `earthquake`, which lists all events that describe the same earthquake.
    let namesEarthquakes: Bool
    /// The origins and magnitudes that QuakeML contains for an earthquake that several agencies report.
    let solutions: QuakeML.Solutions

    var contentType: String {
        callback == nil ? format.contentType : "text/javascript; charset=utf-8"
    }

    enum Resource {
        case query, count
    }

    /// - Parameters:
    ///   - query: the part of the URL after the `?`; may be empty.
    ///   - pathFormat: the format that the path ends with, as in `query.geojson`; nil if the path names no format.
    ///   - maximum: the greatest number of events in one answer.
    /// - Throws: `Refusal`, with status 400.
    init(
        _ resource: Resource, _ query: String, _ pathFormat: EventFormat? = nil, maximum: Int
    ) throws {
        let parameters = try EventParameters(try queryParameters(query))
        self.maximum = maximum
        let stated = try Self.format(parameters)
        if let stated, let pathFormat, stated != pathFormat {
            throw parameters.wrong(.format, "contradicts the path, which ends with .\(pathFormat)")
        }
        format = stated ?? pathFormat ?? (resource == .query ? .xml : .text)
        callback = try Self.callback(parameters, format)
        kml = try Self.kml(parameters, format)
        noData = try parameters.choice(.nodata).flatMap { Int($0) }
        let ids = try parameters.list(.eventid)
        eventID = ids?.count == 1 ? ids?.first : nil

        var selection = try QuakeSelection(filter: parameters)
        try selection.setOrder(parameters)
        try selection.setDeleted(parameters, format, resource)
        if let limit = selection.limit, limit > maximum, resource == .query {
            throw parameters.wrong(.limit, "is more than \(maximum), the limit for one answer")
        }
        solutions = QuakeML.Solutions(
            hasAllOrigins: try parameters.flag(.includeallorigins) ?? false,
            hasAllMagnitudes: try parameters.flag(.includeallmagnitudes) ?? false)
        selection.isMerged = try Self.merges(parameters, solutions, selection)
        namesEarthquakes = try parameters.flag(.includeearthquake) ?? false
        if namesEarthquakes, format != .geojson {
            throw parameters.wrong(.includeearthquake, "needs format=geojson")
        }
        if namesEarthquakes, selection.deleted != .excluded {
            throw Refusal(400, "includeearthquake and includedeleted exclude each other")
        }
        // The table has no arrivals, so the value has no effect.
        _ = try parameters.flag(.includearrivals)
        if try parameters.flag(.includesuperseded) == true, selection.deleted != .excluded {
            throw Refusal(400, "includesuperseded and includedeleted exclude each other")
        }
        self.selection = selection
    }

    /// Whether events of the same earthquake are merged. A request for all origins or magnitudes implies merging, because only
    /// merged earthquakes have several origins and magnitudes.
    private static func merges(
        _ parameters: EventParameters, _ solutions: QuakeML.Solutions, _ selection: QuakeSelection
    ) throws -> Bool {
        let needsMerge = solutions.hasAllOrigins || solutions.hasAllMagnitudes
        let isMerged = try parameters.flag(.merge) ?? needsMerge
        if needsMerge, !isMerged {
            throw parameters.wrong(.merge, "contradicts includeallorigins and includeallmagnitudes")
        }
        if isMerged, selection.deleted != .excluded {
            throw Refusal(
                400, "includedeleted shows single events, so it cannot be used with merged earthquakes")
        }
        return isMerged
    }

    /// The lane of a `query` request.
    var lane: Lane { isCostly ? .costly : mayBeMany ? .long : .short }

    /// Whether the request is known to take long. No index helps to find past states, deleted events, events after a large
    /// offset, or the largest events of all time. To merge the events of all time, the database has to read all of them.
    var isCostly: Bool {
        let isUnbounded = selection.since == nil && selection.until == nil && selection.values[.code] == nil
        return selection.asOf != nil || selection.deleted != .excluded || selection.offset >= 1000
            || isUnbounded && (selection.order == .magnitude || selection.isMerged)
    }

    /// The greatest number of events that are held in memory before the first of them is sent.
    static let few = 200

    var mayBeMany: Bool {
        selection.limit ?? .max > Self.few && selection.values[.code]?.count ?? .max > Self.few
    }

    /// The token of the past state that the answer shows; nil if the answer can change. An answer never changes if the request
    /// names a position, and asks for nothing that pruning may remove: deleted events, and earlier codes of events.
    var unchangingPast: Int? {
        guard case .position(let position) = selection.asOf, selection.deleted == .excluded,
            selection.values[.code] == nil
        else { return nil }
        return position.token
    }

    /// The value of `callback`: one name, or several names joined by dots. Any other text is refused, because it could contain an
    /// attacker's script.
    private static func callback(_ parameters: EventParameters, _ format: EventFormat) throws -> String? {
        guard let callback = parameters.text(.callback) else { return nil }
        guard format == .geojson else { throw parameters.wrong(.callback, "needs format=geojson") }
        guard callback.utf8.count <= 100,
            callback.wholeMatch(of: #/[A-Za-z_$][A-Za-z0-9_$]*(\.[A-Za-z_$][A-Za-z0-9_$]*)*/#) != nil
        else { throw parameters.wrong(.callback, "is not the name of a function") }
        return callback
    }

    private static func kml(_ parameters: EventParameters, _ format: EventFormat) throws -> EventKML.Form {
        for parameter in [EventParameter.kmlcolorby, .kmlanimated]
        where parameters.has(parameter) && format != .kml {
            throw parameters.wrong(parameter, "needs format=kml")
        }
        return EventKML.Form(
            color: try parameters.choice(.kmlcolorby).flatMap(EventKML.Color.init) ?? .age,
            isAnimated: try parameters.flag(.kmlanimated) ?? false)
    }

    private static func format(_ parameters: EventParameters) throws -> EventFormat? {
        guard let name = parameters.text(.format) else { return nil }
        if let format = EventFormat(name: name) { return format }
        _ = try parameters.choice(.format)
        return nil
    }
}

extension QuakeSelection {
    /// Selects events by time, area and properties. The order, the limit and deleted events are not set here.
    init(filter parameters: EventParameters) throws {
        self.init()
        try setTimes(parameters)
        try setArea(parameters)
        try setProperties(parameters)
    }

    fileprivate mutating func setTimes(_ parameters: EventParameters) throws {
        let (start, end) = (try parameters.time(.starttime), try parameters.time(.endtime))
        // Events have times in whole milliseconds. Both ends belong to the window.
        since = start?.ceiling
        until = end?.next
        if let start, let end, (start.floor, start.isMore ? 1 : 0) > (end.floor, end.isMore ? 1 : 0) {
            throw Refusal(400, "starttime is after endtime")
        }
        updatedAfter = try parameters.time(.updatedafter)?.floor
        guard let moment = parameters.text(.asof) else { return }
        if let position = Position(word: moment) {
            asOf = .position(position)
            return
        }
        if moment.utf8.allSatisfy(\.isDigit) {
            guard let token = Int(moment) else { throw parameters.wrong(.asof, "is not a token") }
            asOf = .token(token)
        } else {
            // `PastMoment` also reads a time with an offset, because the service prints `committed_at` in this form.
            guard let past = PastMoment(time: EventParameters.withoutBlankSign(moment)) else {
                throw parameters.wrong(
                    .asof,
                    "is neither a position, a token nor a time such as 2014-04-15 or 2014-04-15T12:22:47.5")
            }
            asOf = past
        }
    }

    fileprivate mutating func setProperties(_ parameters: EventParameters) throws {
        let numbers: [(Property, EventParameter, EventParameter?)] = [
            (.depth, .mindepth, .maxdepth), (.magnitude, .minmagnitude, .maxmagnitude),
            (.gap, .mingap, .maxgap), (.sig, .minsig, .maxsig), (.cdi, .mincdi, .maxcdi),
            (.mmi, .minmmi, .maxmmi), (.felt, .minfelt, nil),
        ]
        for (property, low, high) in numbers { ranges[property] = try parameters.range(low, high) }
        let texts: [(Property, EventParameter)] = [
            (.code, .eventid), (.net, .catalog), (.status, .reviewstatus), (.alert, .alertlevel),
            (.types, .producttype), (.ids, .productcode), (.magnitudeType, .magnitudetype),
        ]
        _ = try parameters.choice(.reviewstatus)
        for (property, parameter) in texts { values[property] = try parameters.list(parameter) }
        // `all` does not narrow the selection. Nor does `preferred`, because each event has only its preferred magnitude.
        if parameters.text(.reviewstatus) == "all" { values[.status] = nil }
        if ["all", "preferred"].contains(parameters.text(.magnitudetype)?.lowercased()) {
            values[.magnitudeType] = nil
        }
        values[.net] = values[.net]?.flatMap(Self.networks)
        contributors = try parameters.list(.contributor)?.flatMap {
            let networks = Self.networks($0)
            return networks.contains($0) ? networks : [$0] + networks
        }
        types = try parameters.list(.eventtype)
    }

    /// The networks of an agency with this name; the name itself if it is another network.
    private static func networks(_ name: String) -> [String] {
        Agency.named(name.lowercased())?.networks ?? [name]
    }

    fileprivate mutating func setOrder(_ parameters: EventParameters) throws {
        let wanted = try parameters.choice(.orderby) ?? "time"
        order = wanted.hasPrefix("magnitude") ? .magnitude : .time
        isReversed = wanted.hasSuffix("-asc")
        limit = try parameters.integer(.limit)
        offset = (try parameters.integer(.offset) ?? 1) - 1
    }

    fileprivate mutating func setDeleted(
        _ parameters: EventParameters, _ format: EventFormat, _ resource: EventRequest.Resource
    ) throws {
        switch try parameters.choice(.includedeleted) {
        case "true": deleted = .included
        case "only": deleted = .only
        default: return
        }
        // The other formats cannot say that an event was deleted.
        if resource == .query, ![.geojson, .csv].contains(format) {
            throw parameters.wrong(.includedeleted, "needs format=geojson or format=csv")
        }
    }
}
