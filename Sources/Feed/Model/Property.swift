/// A property of an earthquake. This is the only place that declares its name in the feed, its column, its kind, its unit and
/// its meaning.
///
/// The decoder, the rows of an import, rows read back, readers' views, JSON, CSV, GeoJSON and the comments on the table's columns
/// are derived from the declarations. To add a property, add a case with its declaration, and a migration that adds the column.
/// Columns are written in this order everywhere.
///
/// The feed's names are those of the USGS GeoJSON summary format
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php).
public enum Property: Int, CaseIterable, Sendable {
    case code, net, netCode, magnitude, magnitudeType, place, title, url, detail, status, alert, type
    case time, updated, tz, felt, sig, nst, cdi, mmi, dmin, rms, gap, tsunami, ids, sources, types
    case longitude, latitude, depth, extra

    private var declared: Declaration {
        switch self {
        case .code:
            Declaration(
                origin: .id, kind: .text, column: "code", isRequired: true,
                meaning: """
                    Network-qualified event id, such as us7000abcd: unique, and the key of every import.
                    """)
        case .net:
            .member("net", .text, isRequired: true, "Preferred network of the event, such as us or ci.")
        case .netCode:
            .member(
                "code", .text, column: "net_code", isRequired: true,
                "The network's own code for the event; unique only within the network.")
        case .magnitude:
            // Catalogues have values from −3 to 9.5. A moment magnitude of 12 would need a fault larger than the Earth. Larger
            // values would make the powers of ten in the reports overflow.
            .member("mag", .number, column: "magnitude", limit: 12, "Magnitude; can be negative.")
        case .magnitudeType:
            .member(
                "magType", .text, column: "magnitude_type",
                "Method behind the magnitude, such as mww, ml or md.")
        case .place: .member("place", .text, "Named place near the epicentre.")
        case .title: .member("title", .text, "Headline of the event.")
        case .url: .member("url", .text, "Event page. Its host tells which service the row came from.")
        case .detail: .member("detail", .text, "URL of the detail feed.")
        case .status: .member("status", .text, "automatic, reviewed or deleted.")
        case .alert: .member("alert", .text, "PAGER alert level: green, yellow, orange or red.")
        case .type:
            .member(
                "type", .text, "Kind of event: earthquake, quarry blast, explosion, ice quake and others.")
        case .time: .member("time", .time, isRequired: true, "Origin time, to the millisecond.")
        case .updated:
            .member(
                "updated", .time, isRequired: true,
                "When the event was last revised upstream, to the millisecond. An import never replaces a row with an older version."
            )
        case .tz: .member("tz", .integer, "Offset of local time from UTC at the epicentre, in minutes.")
        case .felt: .member("felt", .integer, "Number of felt reports.")
        case .sig: .member("sig", .integer, "Significance, 0 to about 1000: larger is more significant.")
        case .nst: .member("nst", .integer, "Number of seismic stations used for the location.")
        case .cdi:
            .member("cdi", .number, "Maximum reported intensity (community internet intensity), 0 to 10.")
        case .mmi:
            .member("mmi", .number, "Maximum estimated instrumental intensity (modified Mercalli), 0 to 10.")
        case .dmin:
            .member("dmin", .number, "Distance from the epicentre to the nearest station, in degrees.")
        case .rms: .member("rms", .number, "Root-mean-square travel time residual, in seconds.")
        case .gap: .member("gap", .number, "Largest azimuthal gap between adjacent stations, in degrees.")
        case .tsunami:
            .member(
                "tsunami", .flag,
                "Whether the event page links to a tsunami service. It does not say that there was a tsunami."
            )
        case .ids: .member("ids", .list, "All ids the event has ever had.")
        case .sources: .member("sources", .list, "Networks that contributed to the event.")
        case .types: .member("types", .list, "Types of the products that exist for the event.")
        case .longitude:
            // Two conventions are in use: −180 to 180, and 0 to 360.
            Declaration(
                origin: .coordinate(0), kind: .number, column: "longitude", isRequired: true, limit: 360,
                meaning: "Longitude of the epicentre, positive east, in degrees.")
        case .latitude:
            Declaration(
                origin: .coordinate(1), kind: .number, column: "latitude", isRequired: true, limit: 90,
                meaning: "Latitude of the epicentre, positive north, in degrees.")
        case .depth:
            // The Earth's radius is 6378 km.
            Declaration(
                origin: .coordinate(2), kind: .number, column: "depth", limit: 6400,
                meaning: "Depth of the hypocentre, negative above sea level, in km.")
        case .extra:
            Declaration(
                origin: .otherProperties, kind: .json, column: "extra",
                meaning: "Properties of the feed that this version does not know; null if there are none.")
        }
    }

    private static let declarations = allCases.map(\.declared)

    public static let count = allCases.count

    /// The greatest number of bytes that a text may have, in UTF-8. Lists and undeclared properties may be longer.
    public static let textLimit = 8 << 10

    var declaration: Declaration { Self.declarations[rawValue] }

    /// Its column in the table `quake` and in readers' views, and its name in JSON and CSV.
    public var column: String { declaration.column }
    public var kind: Kind { declaration.kind }
    public var isRequired: Bool { declaration.isRequired }
    /// Its meaning and unit. The comment on the column is the same text.
    public var meaning: String { declaration.meaning }

    /// The greatest absolute value that a number may have; nil if all finite numbers are accepted. The table has the same limit.
    public var limit: Double? { declaration.limit }

    /// Its name in a feature's `properties`; nil if it is elsewhere in a feature.
    public var feedName: String? {
        if case .property(let name) = declaration.origin { "\(name)" } else { nil }
    }

    public enum Kind: Sendable {
        case text
        /// A finite number.
        case number
        case integer
        case flag
        /// A moment within `Instant.possible`, to the millisecond.
        case time
        /// A list of texts, which the feed separates by commas.
        case list
        case json
    }
}

struct Declaration {
    /// Where the property is in a feature.
    enum Origin {
        case id
        /// A member of `properties`.
        case property(StaticString)
        /// An element of `geometry.coordinates`, from 0.
        case coordinate(Int)
        /// All members of `properties` that are not declared.
        case otherProperties
    }

    let origin: Origin
    let kind: Property.Kind
    let column: String
    var isRequired = false
    var limit: Double?
    let meaning: String

    /// A member of `properties`. Its column has the same name, unless another one is given.
    static func member(
        _ name: StaticString, _ kind: Property.Kind, column: String? = nil, isRequired: Bool = false,
        limit: Double? = nil, _ meaning: String
    ) -> Declaration {
        Declaration(
            origin: .property(name), kind: kind, column: column ?? "\(name)", isRequired: isRequired,
            limit: limit, meaning: meaning)
    }

    /// Its name in rejections: the feed's name, or the column's name if the feed has no name for it.
    var name: String {
        switch origin {
        case .property(let name): "\(name)"
        case .id: "id"
        case .coordinate, .otherProperties: column
        }
    }
}
