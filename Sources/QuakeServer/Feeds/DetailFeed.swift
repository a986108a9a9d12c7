import QuakeStore

/// One event under the USGS's own path. It has what the catalogue keeps, which is what the summary feeds have; the list
/// of products is empty (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson_detail.php).
enum DetailFeed {
    static func answer(of code: String) -> Answer {
        Answer(
            key: "detail/\(code)", contentType: "application/json; charset=utf-8", cacheSeconds: 60
        ) { connection, state, writer in
            let properties = writer.begin(EventGeoJSON(isDetail: true))
            var selection = QuakeSelection()
            selection.code = code
            let selected = try await selection.selected(on: connection, newest: state.position.token)
            try await selected.forEachRow(of: properties) { try writer.append(&$0) }
            if writer.rows == 0, let newCode = try await selected.newCode(of: code) {
                selection.code = newCode
                try await selection.selected(on: connection, newest: selected.token)
                    .forEachRow(of: properties) { try writer.append(&$0) }
            }
            guard writer.rows > 0 else { throw Refusal(404, "The catalogue has no event with this code.") }
            writer.writeHead(of: writer.rows)
        }
    }
}
