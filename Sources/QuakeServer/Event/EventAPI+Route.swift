import Feed
import PostgreSQL
import QuakeStore

extension EventAPI {
    static let path = "/fdsnws/event/1/"

    /// Finds the reply or the answer for a path of the event service.
    ///
    /// - Parameters:
    ///   - path: the rest of the path after `/fdsnws/event/1/`.
    ///   - query: the text after the question mark; may be empty.
    ///   - baseURL: the beginning of the service's URLs, without a slash at the end.
    /// - Throws: `Refusal`.
    static func route(
        path: String, query: String, baseURL: String, _ settings: ServerSettings
    ) throws -> RouteResult {
        let target = "\(Self.path)\(path)\(query.isEmpty ? "" : "?\(query)")"
        let (method, format) = methodAndFormat(path)
        guard query.isEmpty || ["query", "count"].contains(method) else {
            throw Refusal(400, "\(method) has no parameters")
        }
        switch method {
        case "query":
            let request = try EventRequest(.query, query, format, maximum: settings.maxEvents)
            return .answer(events(request, target, baseURL))
        case "count":
            let request = try EventRequest(.count, query, format, maximum: settings.maxEvents)
            return .answer(count(request, target))
        case "version": return .reply(Reply(body: Array(version.utf8)))
        case "application.wadl":
            let wadl = wadl(base: settings.basePath + Self.path.dropLast())
            return .reply(Reply(contentType: "application/xml", body: Array(wadl.utf8)))
        case "catalogs": return .answer(list(target, "Catalog", Networks.preferred))
        case "contributors": return .answer(list(target, "Contributor", Networks.contributing))
        case "": return .reply(Reply(body: Array(usage.utf8)))
        default: throw Refusal(404, "the service has no method with this name")
        }
    }

    /// Splits a path such as `query.geojson`, which scripts for the USGS's service use, into its method and its format. Any other
    /// path is a method without a format.
    private static func methodAndFormat(_ path: String) -> (method: String, format: EventFormat?) {
        for method in ["query", "count"] where path.hasPrefix("\(method).") {
            if let format = EventFormat(name: String(path.dropFirst(method.count + 1))) {
                return (method, format)
            }
        }
        return (path, nil)
    }

    private static func events(_ request: EventRequest, _ target: String, _ baseURL: String) -> Answer {
        // Colours by age change with time even if no event changes, so the key contains the minute.
        let isTimed = request.format == .kml && request.kml.color == .age
        let minute = isTimed ? "\(Instant.now.milliseconds / 60_000) " : ""
        let url = baseURL + target
        return Answer(
            key: "\(minute)\(target)", contentType: request.contentType, asOf: request.selection.asOf,
            past: isTimed ? nil : request.unchangingPast, namesServer: request.namesServer,
            lane: request.lane,
            writeAtOnce: { connection, writer in
                try request.writeAtOnce(on: connection, url: url, writer)
            },
            write: { connection, state, writer in
                try await request.writeEvents(
                    on: connection, newest: state.position.token, url: url, writer)
            })
    }

    private static func count(_ request: EventRequest, _ target: String) -> Answer {
        let contentType = request.format == .geojson ? request.contentType : EventFormat.text.contentType
        return Answer(
            key: target, contentType: contentType, asOf: request.selection.asOf, past: request.unchangingPast,
            lane: request.isCostly ? .costly : .short
        ) { connection, state, writer in
            let count = try await request.count(on: connection, newest: state.position.token)
            try writer.write(Array((request.callback.map { "\($0)(\(count));" } ?? count).utf8))
        }
    }

    /// The answer to `catalogs` and `contributors`.
    private static func list(
        _ target: String, _ element: String,
        _ names: @escaping @Sendable (Connection) async throws -> [String]
    ) -> Answer {
        Answer(key: target, contentType: "application/xml") { connection, _, writer in
            let items = try await names(connection).map { "<\(element)>\(xmlEscaped($0))</\(element)>\n" }
            let list = """
                <?xml version="1.0" encoding="UTF-8"?>
                <\(element)s>
                \(items.joined())</\(element)s>

                """
            try writer.write(Array(list.utf8))
        }
    }

    private static let usage = """
        FDSN event web service \(version)

        query, count, version, application.wadl, catalogs, contributors

        Parameters of query and count: \(EventParameter.allCases.map(\.rawValue).joined(separator: ", "))

        """
}
