/// What an answer is written in.
enum EventFormat: String, Sendable, CaseIterable {
    /// QuakeML 1.2, the standard's default.
    case xml
    /// One line per event, its fields between vertical bars.
    case text
    /// The columns of the USGS.
    case csv
    /// A FeatureCollection as in the USGS's feeds.
    case geojson
    /// Placemarks for globes.
    case kml

    /// By its name, or by `quakeml`, which is another one of `xml` at the USGS.
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
