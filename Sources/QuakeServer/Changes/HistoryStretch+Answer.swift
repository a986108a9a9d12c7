import PostgreSQL
import QuakeStore

extension HistoryStretch {
    /// The stretch as lines of JSON, the last of which is its end.
    ///
    /// - Parameter target: the request's path and query.
    func answer(_ target: String, _ form: StreamForm) -> Answer {
        // Authors may be shown today and hidden tomorrow, and a cache has to follow.
        let seconds = form.namesAuthors ? 3600 : Answer.forEver
        // A token alone may become another transaction's, when the database is restored.
        return Answer(
            key: target, contentType: form.syntax.contentType, cacheSeconds: namesPositions ? seconds : 0,
            isImmutable: namesPositions, lane: until.token - after.token > 100 ? .costly : .short
        ) { connection, _, writer in
            do {
                let end = try await forEachLine(on: connection) { line in
                    var bytes: [UInt8] = []
                    form.append(.change, line, to: &bytes)
                    try writer.write(bytes)
                }
                var bytes: [UInt8] = []
                form.append(end, to: &bytes)
                try writer.write(bytes)
            } catch let error as StretchError {
                throw Refusal(error.isFuture ? 404 : 410, "\(error)")
            }
        }
    }
}
