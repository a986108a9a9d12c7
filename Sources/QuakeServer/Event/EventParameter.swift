/// The parameters of the event service: the parameters of fdsnws-event 1.2, the USGS's additions, and our own additions `asof`,
/// `merge` and `includeearthquake`.
///
/// The service accepts only parameters that are declared here, and lists all of them in its WADL.
enum EventParameter: String, CaseIterable, Sendable {
    case starttime, endtime, updatedafter, asof
    case minlatitude, maxlatitude, minlongitude, maxlongitude
    case latitude, longitude, minradius, maxradius, minradiuskm, maxradiuskm
    case mindepth, maxdepth, minmagnitude, maxmagnitude, magnitudetype
    case mingap, maxgap, minsig, maxsig, mincdi, maxcdi, minmmi, maxmmi, minfelt
    case eventtype, eventid, catalog, contributor, alertlevel, reviewstatus, producttype, productcode
    case includedeleted, includesuperseded, includeallorigins, includeallmagnitudes, includearrivals
    case merge, includeearthquake
    case format, nodata, orderby, limit, offset
    case callback, kmlcolorby, kmlanimated

    var alias: String? {
        switch self {
        case .starttime: "start"
        case .endtime: "end"
        case .minlatitude: "minlat"
        case .maxlatitude: "maxlat"
        case .minlongitude: "minlon"
        case .maxlongitude: "maxlon"
        case .latitude: "lat"
        case .longitude: "lon"
        case .minmagnitude: "minmag"
        case .maxmagnitude: "maxmag"
        case .magnitudetype: "magtype"
        default: nil
        }
    }

    /// The parameters by their names and aliases, in lower case.
    static let named: [String: EventParameter] = Dictionary(
        uniqueKeysWithValues: allCases.flatMap { parameter in
            [parameter.rawValue, parameter.alias].compactMap(\.self).map { ($0, parameter) }
        })

    static let names = named.keys.sorted()

    enum Kind: Sendable {
        case time, boolean, text
        /// A number within these limits.
        case number(ClosedRange<Double>)
        case integer(ClosedRange<Double>)
        case choice([String])
    }

    var kind: Kind {
        switch self {
        case .starttime, .endtime, .updatedafter: .time
        case .minlatitude, .maxlatitude, .latitude: .number(-90...90)
        case .minlongitude, .maxlongitude, .longitude: .number(-360...360)
        case .minradius, .maxradius: .number(0...180)
        case .minradiuskm, .maxradiuskm: .number(0...20_016)
        case .mindepth, .maxdepth: .number(-6400...6400)
        case .minmagnitude, .maxmagnitude: .number(-12...12)
        case .mingap, .maxgap: .number(0...360)
        case .mincdi, .maxcdi, .minmmi, .maxmmi: .number(0...12)
        case .minsig, .maxsig, .minfelt: .integer(-1e9...1e9)
        case .limit, .offset: .integer(1...1e15)
        case .includesuperseded, .includeallorigins, .includeallmagnitudes, .includearrivals, .merge,
            .includeearthquake, .kmlanimated:
            .boolean
        case .asof, .callback, .magnitudetype, .eventtype, .eventid, .catalog, .contributor, .alertlevel,
            .producttype,
            .productcode:
            .text
        case .reviewstatus: .choice(["all", "automatic", "reviewed"])
        case .includedeleted: .choice(["false", "true", "only"])
        case .format: .choice(EventFormat.allCases.map(\.rawValue))
        case .kmlcolorby: .choice(EventKML.Color.allCases.map(\.rawValue))
        case .nodata: .choice(["204", "404"])
        case .orderby: .choice(["time", "time-asc", "magnitude", "magnitude-asc"])
        }
    }
}
