import ArgumentParser
import Feed
import QuakeML
import QuakeStore

/// The forms in which earthquakes are listed. Machine formats are complete and never shortened or coloured.
enum QuakeFormat: String, ExpressibleByArgument, CaseIterable {
    case table, json, ndjson, csv, geojson, quakeml

    /// - Parameters:
    ///   - near: the circle from whose centre distances are measured, if the format shows them.
    ///   - times: the zone of a table's times; machine formats are always in UTC.
    ///   - isMerged: whether each row is an earthquake, with its agencies.
    func form(
        csv: CSV, near: QuakeSelection.Circle?, times: TimeZoneText, isMerged: Bool = false
    ) -> ListingForm<ListedQuake> {
        switch self {
        case .table: .table(ListedQuake.columns(near: near, times: times, isMerged: isMerged))
        case .json: .array(\.json)
        case .ndjson: .lines(\.json)
        case .csv:
            .csv(
                csv, Property.allCases.map(\.column) + (isMerged ? ListedQuake.groupColumns : []), \.fields)
        // GeoJSON has the feed's own form, so it can be imported again.
        case .geojson:
            .document(
                head: "{\"type\":\"FeatureCollection\",\"features\":[\n", separator: ",\n", tail: "]}\n",
                \.quake.geoJSON.jsonText)
        case .quakeml: .document(head: QuakeML.head, tail: QuakeML.tail, { QuakeML.event($0.quake) })
        }
    }
}
