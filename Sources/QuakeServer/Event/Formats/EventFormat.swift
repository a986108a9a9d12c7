enum EventFormat: String, Sendable, CaseIterable {
    case xml
    case text
    case csv
    case geojson
    case kml

    /// Finds a format by its name. `quakeml` is the USGS's second name for `xml`.
    init?(name: String) { self.init(rawValue: name == "quakeml" ? "xml" : name) }

    var contentType: String {
        switch self {
        case .xml: "application/xml"
        case .text: "text/plain; charset=utf-8"
        case .csv: "text/csv; charset=utf-8"
        case .geojson: "application/json; charset=utf-8"
        case .kml: "application/vnd.google-earth.kml+xml"
        }
    }
}
