import Feed
import QuakeStore
import Synchronization

/// The preview of a shared link to an event: the page's title, and its Open Graph tags (https://ogp.me).
struct PageCard: Sendable {
    let title: String
    let description: String

    init(_ quake: Quake) {
        let magnitude = quake.magnitude.map { rounded($0, 1) } ?? "?"
        let place = quake[.place].text ?? ""
        title = "M \(magnitude), \(place.isEmpty ? quake.code : place)"
        let depth = quake.depth.map { ", depth \(rounded($0, 1)) km" } ?? ""
        let kind = quake[.type].text.map { "\($0.prefix(1).uppercased())\($0.dropFirst())" } ?? "Earthquake"
        description = "\(kind), \(quake.time.shortText) UTC\(depth)"
    }

    func written(into index: String) -> String {
        let (title, description) = (xmlEscaped(title), xmlEscaped(description))
        return
            index
            .replacing("<title>Quakes</title>", with: "<title>\(title) – Quakes</title>")
            .replacing(
                /<meta property="og:title" content="[^"]*">/,
                with: "<meta property=\"og:title\" content=\"\(title)\">"
            )
            .replacing(
                /<meta (property="og:|name=")description" content="[^"]*">/,
                with: { "<meta \($0.1)description\" content=\"\(description)\">" })
    }
}

extension Responder {
    /// The page, with the preview of the event that its link names. If the event can't be read, only the preview is missing, and
    /// the page itself reports the problem.
    func index(isFramed: Bool, _ query: String?, for rateLimitKey: ClientAddress?) async -> PageFile {
        let plain = isFramed ? embedded : index
        // A malformed query gets no preview. The page's script still reads as much of the query as it can.
        guard let query, let pairs = try? queryParameters(query),
            let code = pairs.first(where: { $0.name == "event" })?.value, (1...64).contains(code.utf8.count)
        else { return plain }
        do {
            guard let card = try await card(of: code, for: rateLimitKey) else { return plain }
            return .index(below: settings.basePath, at: settings.baseURL, isFramed: isFramed, card)
        } catch {
            logger.warning("the page of event \(code.debugDescription) has no preview: \(error)")
            return plain
        }
    }

    private func card(of code: String, for rateLimitKey: ClientAddress?) async throws -> PageCard? {
        try await sessions.useAnother(.short, for: rateLimitKey, unless: false) { connection in
            try await CatalogueState.withSnapshot(
                on: connection, limit: settings.shortTime, hasSettled: false
            ) { state in
                var selection = QuakeSelection()
                selection.values[.code] = [code]
                let found = Mutex<Quake?>(nil)
                // The page shows the magnitude of the earthquake with the row that represents it.
                for isMerged in [true, false] {
                    selection.isMerged = isMerged
                    try await selection.selected(on: connection, newest: state.position.token).forEachQuake {
                        quake in
                        found.withLock { $0 = quake }
                    }
                    if found.withLock({ $0?.code }) == code { break }
                }
                return found.withLock { $0.map(PageCard.init) }
            }
        }
    }
}
