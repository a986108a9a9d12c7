import Feed
import PostgreSQL
import QuakeML
import QuakeStore
import Synchronization

extension EventRequest {
    /// Writes the answer to `query`, in constant memory.
    ///
    /// - Parameters:
    ///   - connection: in a REPEATABLE READ transaction.
    ///   - url: what was asked for.
    ///   - write: takes the bytes, some 64 KiB at a time.
    /// - Returns: how many events it has.
    /// - Throws: `EventError` instead of an answer, before anything is written; `PostgresError`; what `write` throws.
    @discardableResult
    public func writeEvents(
        on connection: Connection, url: String, _ write: @escaping @Sendable ([UInt8]) throws -> Void
    ) async throws -> Int {
        let selected = try await selected(on: connection)
        let count = try await selected.count(upTo: maximum + 1)
        guard count <= maximum else {
            throw EventError(
                413,
                "more than \(maximum) events match; ask for fewer, or for \(maximum) at a time with limit and offset"
            )
        }
        if count == 0 { try await refuse(selected) }
        let output = EventOutput(write)
        switch format {
        case .xml:
            try output.append(QuakeML.head)
            try await selected.forEachQuake { quake in try output.append(QuakeML.event(quake)) }
            try output.append(QuakeML.tail)
        case .text:
            try await writeLines(of: selected, EventText.head, EventText.properties, output, EventText.append)
        case .csv:
            try await writeLines(of: selected, EventCSV.head, EventCSV.properties, output, EventCSV.append)
        case .geojson: try await writeFeatures(of: selected, count: count, url: url, output)
        }
        try output.finish()
        return count
    }

    /// The answer to `count`: how many events `query` would give if there were no greatest number.
    public func count(on connection: Connection) async throws -> String {
        let count = try await selected(on: connection).count()
        return format == .geojson ? "{\"count\":\(count),\"maxAllowed\":\(maximum)}" : "\(count)"
    }

    private func selected(on connection: Connection) async throws -> SelectedQuakes {
        do {
            return try await selection.selected(on: connection)
        } catch let error as PastError {
            throw EventError(400, "asof: \(error)")
        }
    }

    /// Throws if an answer without events is none.
    private func refuse(_ selected: SelectedQuakes) async throws {
        if let eventID, selection.deleted == .excluded, try await selected.isDeleted(eventID) {
            throw EventError(409, "event \(eventID) was deleted; includedeleted=true shows it")
        }
        if let status = noData ?? (format == .xml ? 204 : nil) {
            throw EventError(status, "no event matches")
        }
    }

    private func writeLines(
        of selected: SelectedQuakes, _ head: String, _ properties: [Property], _ output: EventOutput,
        _ append: @escaping @Sendable (inout CopiedRow, inout [UInt8]) throws -> Void
    ) async throws {
        try output.append(head)
        try await selected.forEachRow(of: properties) { row in
            try output.append { try append(&row, &$0) }
        }
    }

    /// A collection; or a feature alone, as at the USGS, if one event was asked for by its id.
    private func writeFeatures(
        of selected: SelectedQuakes, count: Int, url: String, _ output: EventOutput
    ) async throws {
        let isAlone = eventID != nil && count == 1
        let encoder = Mutex(FeatureEncoder(isDetail: isAlone))
        if !isAlone { try output.append(collectionHead(count: count, url: url)) }
        try await selected.forEachRow(of: FeatureEncoder.columns) { row in
            let full: [UInt8]? = try encoder.withLock { encoder in
                try encoder.append(&row)
                return encoder.bytes.count < EventOutput.chunk ? nil : encoder.take()
            }
            if let full { try output.append { $0.append(contentsOf: full) } }
        }
        try output.append { bytes in
            encoder.withLock { encoder in
                if !isAlone {
                    encoder.append(text: "]")
                    encoder.appendBounds()
                    encoder.append(text: "}")
                }
                bytes.append(contentsOf: encoder.take())
            }
        }
    }

    private func collectionHead(count: Int, url: String) -> String {
        var head: [UInt8] = []
        head.append(text: "{\"type\":\"FeatureCollection\",\"metadata\":{\"generated\":")
        head.append(integer: Instant.now.milliseconds)
        head.append(text: ",\"url\":")
        head.append(jsonString: url)
        head.append(text: ",\"title\":\"Earthquakes\",\"status\":200,\"api\":\"\(EventService.version)\"")
        if let limit = selection.limit { head.append(text: ",\"limit\":\(limit)") }
        head.append(text: ",\"offset\":\(selection.offset + 1),\"count\":\(count)},\"features\":[")
        return String(decoding: head, as: UTF8.self)
    }
}
