import Feed
import PostgreSQL
import QuakeStore

extension EventRequest {
    /// Writes the answer to `query`, in constant memory.
    ///
    /// - Parameters:
    ///   - connection: a connection in a REPEATABLE READ transaction.
    ///   - newest: the newest token that the transaction sees.
    ///   - url: the requested URL.
    /// - Throws: `Refusal` instead of an answer, before anything is written; `PostgresError`; the errors of `writer`.
    func writeEvents(
        on connection: Connection, newest: Int, url: String, _ writer: AnswerWriter
    ) async throws {
        let selected = try await selected(on: connection, newest: newest)
        let encoder = encoder(url)
        let properties = writer.begin(encoder)
        // The head contains the number of events. If there are few events, they are held back and counted, which saves a query.
        // In QuakeML, the rows of merged earthquakes are solutions, not events, so the number of rows would be wrong.
        var hasHead = false
        if mayBeMany || hasSolutions {
            let count = try await selected.count(upTo: maximum + 1)
            hasHead = count > 0 || eventID == nil
            if hasHead { try await writeHead(of: count, writer, selected) }
        }
        if hasSolutions {
            try await selected.forEachSolution(of: properties) { try writer.append(&$0) }
        } else {
            try await selected.forEachRow(of: properties, withGroups: encoder.needsGroup) {
                try writer.append(&$0)
            }
        }
        if writer.rows == 0, let renamed = try await renamed(in: selected) {
            return try await renamed.writeEvents(on: connection, newest: newest, url: url, writer)
        }
        if !hasHead { try await writeHead(of: writer.rows, writer, selected) }
    }

    private var hasSolutions: Bool { format == .xml && selection.isMerged }

    /// Writes the answer from one statement, if the answer has few events and shows the present, as most answers do. The
    /// catalogue's state is noted before anything is written.
    ///
    /// - Returns: false if nothing was written, because one statement is not enough.
    /// - Throws: `PostgresError`; the errors of `writer`.
    func writeAtOnce(
        on connection: isolated Connection, url: String, _ writer: AnswerWriter
    ) throws -> Bool {
        guard !mayBeMany, !selection.isMerged, !namesEarthquakes, selection.asOf == nil,
            selection.deleted == .excluded, selection.offset == 0,
            try connection.ownsSession()
        else { return false }
        let properties = writer.begin(encoder(url))
        do {
            try selection.readAtOnce(properties, most: Self.few, on: connection, writer.note) {
                try writer.append(&$0)
            }
        } catch let error as PostgresError where error.hasChangedShape || error.sqlState == "40001" {
            // The table is being altered.
            return false
        }
        let count = writer.rows
        // An event that was not found may have been deleted, or may have a new code.
        guard count > 0 || eventID == nil, count <= maximum else { return false }
        try check(count)
        writer.writeHead(of: count)
        return true
    }

    /// Writes the head for `count` events. Throws a `Refusal` if there are too many events, or none.
    private func writeHead(of count: Int, _ writer: AnswerWriter, _ selected: SelectedQuakes) async throws {
        if count == 0, let eventID, selection.deleted == .excluded, try await selected.isDeleted(eventID) {
            throw Refusal(409, "event \(eventID) was deleted; includedeleted=true shows it")
        }
        try check(count)
        writer.writeHead(of: count)
    }

    private func check(_ count: Int) throws {
        guard count <= maximum else {
            throw Refusal(
                413,
                "more than \(maximum) events match; ask for fewer, or for \(maximum) at a time with limit and offset"
            )
        }
        if count == 0, let status = noData ?? (format == .xml ? 204 : nil) {
            throw Refusal(status, "no event matches")
        }
    }

    /// Whether the answer contains the requested URL, with this server's host.
    var namesServer: Bool { format == .geojson || format == .kml }

    private func encoder(_ url: String) -> any EventEncoder {
        switch format {
        case .xml where hasSolutions: EarthquakeXML(solutions)
        case .xml: EventXML()
        case .text: EventText(needsGroup: selection.isMerged)
        case .csv: EventCSV()
        case .geojson:
            EventGeoJSON(
                url: url, limit: selection.limit, offset: selection.offset, isDetail: eventID != nil,
                callback: callback, needsGroup: namesEarthquakes)
        case .kml:
            EventKML(
                form: kml, title: "Earthquakes", url: url, now: .now,
                groupsByMagnitude: selection.order == .magnitude)
        }
    }

    /// The answer to `count`: how many events `query` would return if answers had no maximum.
    func count(on connection: Connection, newest: Int) async throws -> String {
        let selected = try await selected(on: connection, newest: newest)
        let count = try await selected.count()
        if count == 0, let renamed = try await renamed(in: selected) {
            return try await renamed.count(on: connection, newest: newest)
        }
        return format == .geojson ? "{\"count\":\(count),\"maxAllowed\":\(maximum)}" : "\(count)"
    }

    /// If the one requested event was renamed, the same request with the event's current code; otherwise nil. If an event still
    /// has the requested code but does not match the request, no other event replaces it.
    private func renamed(in selected: SelectedQuakes) async throws -> EventRequest? {
        guard let eventID, selection.deleted == .excluded, let code = try await selected.newCode(of: eventID)
        else { return nil }
        var request = self
        request.selection.values[.code] = [code]
        request.eventID = code
        return request
    }

    private func selected(on connection: Connection, newest: Int) async throws -> SelectedQuakes {
        do {
            return try await selection.selected(on: connection, newest: newest)
        } catch let error as PastError {
            throw Refusal(error.isGone ? 410 : 400, "asof: \(error)")
        }
    }
}
