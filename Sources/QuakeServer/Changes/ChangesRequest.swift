import Feed
import HTTPTypes
import QuakeStore

struct ChangesRequest: Sendable {
    let form: StreamForm
    let start: Start
    /// For a long poll, the time within which it is answered; nil for a stream.
    let patience: Duration?

    enum Start: Sendable, Hashable {
        case snapshot
        /// Only changes after this moment.
        case now
        /// The changes since the position with this token. The rest of that position is unknown.
        case token(Int)
        /// The changes since a position, or all rows if the table no longer has this signature. The signature is nil if it is
        /// unknown.
        case position(Position, of: String? = nil)

        var position: Position? { if case .position(let position, _) = self { position } else { nil } }
    }

    /// The parameters of the event service's `query` that `/changes` refuses, because they have no meaning for changes: an order,
    /// a limit, a past state, or a format, for example.
    private static let refused: Set<EventParameter> = [
        .updatedafter, .asof, .includedeleted, .includeallorigins, .includeallmagnitudes, .includearrivals,
        .merge, .includeearthquake, .format, .nodata, .orderby, .limit, .offset, .callback, .kmlcolorby,
        .kmlanimated,
    ]

    /// - Parameters:
    ///   - query: the part of the URL after the `?`; may be empty.
    ///   - takesChunks: whether the client understands a body in chunks.
    /// - Throws: `Refusal`, with status 400.
    init(_ query: String, _ headers: HTTPFields, _ settings: ServerSettings, takesChunks: Bool) throws {
        var pairs = try queryParameters(query)
        func take(_ name: String) throws -> String? {
            let given = pairs.filter { $0.name == name }
            guard given.count <= 1 else { throw Refusal(400, "\(name) is given more than once") }
            pairs.removeAll { $0.name == name }
            return given.first?.value
        }
        let (after, wait) = (try take("after"), try take("wait"))
        // Caches may keep answers to long polls, so such an answer depends only on the URL, not on header fields.
        let isStream = wait == nil
        // An empty ID means that the browser has not received an ID yet.
        let lastID = headers[.lastEventID].flatMap { $0.isEmpty || !isStream ? nil : $0 }
        let start = try Self.start(lastID ?? after)
        let filter = pairs.isEmpty ? nil : try Self.filter(pairs)
        patience = try wait.map { min(try Self.duration($0), settings.pollTime) }
        let accepted = headers[.accept]?.lowercased() ?? ""
        form = StreamForm(
            syntax: isStream && accepted.contains("text/event-stream") ? .events : .lines,
            filter: filter, isChunked: isStream && takesChunks)
        self.start = start
    }

    private static func duration(_ text: String) throws -> Duration {
        let digits = text.hasSuffix("s") ? text.dropLast() : text[...]
        guard (1...4).contains(digits.utf8.count), digits.utf8.allSatisfy(\.isDigit),
            let seconds = Int(digits)
        else { throw Refusal(400, "wait=\(text.prefix(100)) is not a number of seconds, such as 20s") }
        return .seconds(seconds)
    }

    private static func start(_ text: String?) throws -> Start {
        guard let text else { return .snapshot }
        if text == "now" { return .now }
        if let position = Position(word: text) { return .position(position) }
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let token = Int(text) else {
            throw Refusal(400, "after=\(text.prefix(100)) is neither a position, nor a token, nor now")
        }
        return .token(token)
    }

    private static func filter(_ pairs: [(name: String, value: String)]) throws -> ChangeFilter {
        let parameters = try EventParameters(pairs)
        for parameter in refused where parameters.has(parameter) {
            throw Refusal(400, "\(parameter) cannot be used for changes")
        }
        return ChangeFilter(
            key: ExactText(pairs.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "\n")),
            selection: try QuakeSelection(filter: parameters))
    }
}

extension HTTPField.Name {
    /// The last ID that a browser has received, which it sends when it reconnects
    /// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
    static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

/// Selects the events whose changes a client wants.
struct ChangeFilter: Sendable, Hashable {
    /// Identifies the filter: equal filters have equal keys.
    let key: ExactText
    let selection: QuakeSelection

    static func == (one: ChangeFilter, other: ChangeFilter) -> Bool { one.key == other.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
