import ArgumentParser
import Feed
import QuakeML
import QuakeStore

/// The forms in which earthquakes are listed. Machine formats are complete and never shortened or coloured.
enum QuakeFormat: String, ExpressibleByArgument, CaseIterable {
    case table, json, ndjson, csv, geojson, quakeml

    /// - Parameters:
    ///   - near: where distances are measured from, if the format shows them.
    ///   - times: the zone of a table's times; machine formats are always in UTC.
    func form(
        csv: CSV, near: QuakeSelection.Circle?, times: TimeZoneText
    ) -> ListingForm<Quake> {
        switch self {
        case .table: .table(Quake.columns(near: near, times: times))
        case .json: .array(\.json)
        case .ndjson: .lines(\.json)
        case .csv: .csv(csv, Property.allCases.map(\.column), \.fields)
        // In the feed's own form: it can be imported again.
        case .geojson:
            .document(
                head: "{\"type\":\"FeatureCollection\",\"features\":[\n", separator: ",\n", tail: "]}\n",
                \.geoJSON.jsonText)
        case .quakeml: .document(head: QuakeML.head, tail: QuakeML.tail, { QuakeML.event($0) })
        }
    }
}
