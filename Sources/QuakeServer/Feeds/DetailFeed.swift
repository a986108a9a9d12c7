import Feed
import QuakeStore

/// The detail document of one event, under the USGS's path or under the path of its agency. Like the summary feeds, it contains
/// the properties that the catalogue keeps; its list of products is usually empty
/// (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson_detail.php).
enum DetailFeed {
    /// - Parameter agency: nil for the events of all agencies.
    static func answer(of code: String, in agency: Agency?) -> Answer {
        Answer(
            key: "detail/\(agency?.name ?? "all")/\(code)", contentType: "application/json; charset=utf-8",
            cacheSeconds: 60
        ) { connection, state, writer in
            let properties = writer.begin(EventGeoJSON(isDetail: true))
            var selection = QuakeSelection()
            selection.agency = agency
            selection.values[.code] = [code]
            let selected = try await selection.selected(on: connection, newest: state.position.token)
            try await selected.forEachRow(of: properties) { try writer.append(&$0) }
            if writer.rows == 0, let newCode = try await selected.newCode(of: code) {
                selection.values[.code] = [newCode]
                try await selection.selected(on: connection, newest: selected.token)
                    .forEachRow(of: properties) { try writer.append(&$0) }
            }
            guard writer.rows > 0 else {
                let words = agency == nil ? "" : " from this agency; detail/all/ serves all agencies"
                throw Refusal(404, "The catalogue has no event with this code\(words).")
            }
            writer.writeHead(of: writer.rows)
        }
    }
}
