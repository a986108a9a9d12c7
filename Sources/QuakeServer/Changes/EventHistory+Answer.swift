import QuakeStore

extension EventHistory {
    /// The history of one event, as lines of JSON.
    static func answer(of code: String, namesAuthors: Bool) -> Answer {
        Answer(key: "history/\(code)", contentType: "application/x-ndjson; charset=utf-8") {
            connection, _, writer in
            let isKnown = try await EventHistory.forEachLine(of: code, on: connection) { line in
                var bytes = [UInt8](line)
                if !namesAuthors { bytes.hideAuthor(from: 0) }
                bytes.append(UInt8(ascii: "\n"))
                try writer.write(bytes)
            }
            guard isKnown else { throw Refusal(404, "The catalogue has never had an event with this code.") }
        }
    }
}
