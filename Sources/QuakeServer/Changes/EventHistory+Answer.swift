import QuakeStore

extension EventHistory {
    /// The history of one event, as lines of JSON.
    static func answer(of code: String, namesAuthors: Bool) -> Answer {
        Answer(key: "history/\(code)", contentType: "application/x-ndjson; charset=utf-8") {
            connection, _, writer in
            let isKnown = try await EventHistory.forEachLine(
                of: code, on: connection, namesAuthors: namesAuthors
            ) { line in
                try writer.write([UInt8](line) + [UInt8(ascii: "\n")])
            }
            guard isKnown else { throw Refusal(404, "The catalogue has never had an event with this code.") }
        }
    }
}
