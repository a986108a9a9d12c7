import PostgreSQL
import QuakeStore

/// One event under the USGS's own path. It has what the catalogue keeps, which is what the summary feeds have; the list
/// of products is empty (https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson_detail.php).
enum DetailFeed {
    static func answer(of code: String) -> Answer {
        var answer = Answer(
            key: "detail/\(code)", contentType: "application/json; charset=utf-8"
        ) { connection, state, writer in
            if try await write(code, on: connection, writer) { return }
            let newest = state.position.token
            if let renamed = try await RenamedEvent.code(of: code, upTo: newest, on: connection),
                try await write(renamed, on: connection, writer)
            {
                return
            }
            throw Reply(404, text: "The catalogue has no event with this code.")
        }
        answer.cacheSeconds = 60
        return answer
    }

    /// - Returns: false if there is no such event; nothing is written then.
    private static func write(
        _ code: String, on connection: Connection, _ writer: AnswerWriter
    ) async throws -> Bool {
        let body = EventBody(FeatureEncoder(isDetail: true)) { try writer.write($0) }
        try await FeedRows.copy(body.properties, of: code, on: connection) { try body.append(&$0) }
        guard body.count > 0 else { return false }
        body.begin(body.count)
        try body.finish()
        writer.countRows(body.count)
        return true
    }
}
