import PostgreSQL
import QuakeStore

/// One event under the USGS's own path. It has what the catalogue keeps, which is what the summary feeds have; the list
/// of products is empty (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson_detail.php).
enum DetailFeed {
    static func answer(of code: String) -> Answer {
        var answer = Answer(
            key: "detail/\(code)", contentType: "application/json; charset=utf-8"
        ) { connection, _, writer in
            let encoder = FeatureWriter(writer, isDetail: true)
            try await FeedRows.copy(FeatureEncoder.columns, of: code, on: connection) {
                try encoder.append(&$0)
            }
            guard try encoder.finishFeature() else {
                throw Reply(404, text: "The catalogue has no event with this code.")
            }
        }
        answer.cacheSeconds = 60
        return answer
    }
}
