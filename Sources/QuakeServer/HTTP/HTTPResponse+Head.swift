import Feed
import HTTPTypes
import QuakeStore

extension HTTPResponse {
    init(
        _ answer: Answer, _ state: CatalogueState, isCompressed: Bool, status: Int, _ settings: ServerSettings
    ) {
        self.init(common: status, settings)
        headerFields[.eTag] = EntityTag(answer, state, isCompressed: isCompressed, settings).description
        headerFields[.lastModified] = state.committedAt.internetDate(zone: "GMT")
        let age =
            switch answer.past {
            case nil: "\(answer.cacheSeconds)"
            // A year is the longest customary time (RFC 9111, 5.2.2.1, and RFC 8246).
            case let token? where state.citedFrom.map({ $0 <= token }) ?? false: "31536000, immutable"
            // The past state may be pruned, so caches may keep the answer for an hour only.
            case _?: "3600"
            }
        // Without a base URL, the URLs in the body contain the host that the client named, so a shared cache must not give the
        // answer to other clients.
        let readers = answer.namesServer && settings.baseURL == nil ? "private" : "public"
        headerFields[.cacheControl] = "\(readers), max-age=\(age)"
        headerFields[.vary] = "Accept-Encoding"
        let position = answer.position(at: state)
        headerFields[.quakesToken] = position.map { "\($0.token)" }
        headerFields[.quakesPosition] = position?.word
        guard status == 200 else { return }
        headerFields[.contentType] = answer.contentType
        if isCompressed { headerFields[.contentEncoding] = "gzip" }
    }

    init(_ form: StreamForm, _ settings: ServerSettings) {
        self.init(common: 200, settings)
        headerFields[.contentType] = form.syntax.contentType
        headerFields[.cacheControl] = "no-store"
        headerFields[.vary] = "Accept"
        // Without this field, proxies such as nginx keep events back until a buffer is full.
        headerFields[.xAccelBuffering] = "no"
    }

    /// The head of an answer to a long poll.
    ///
    /// - Parameters:
    ///   - position: the position at the end of the body; nil if it is not known yet.
    ///   - seconds: how long caches may keep the answer.
    init(upTo position: Position?, seconds: Int, _ settings: ServerSettings) {
        self.init(common: 200, settings)
        headerFields[.contentType] = StreamForm.Syntax.lines.contentType
        headerFields[.cacheControl] = "public, max-age=\(seconds)"
        guard let position else { return }
        headerFields[.quakesToken] = "\(position.token)"
        headerFields[.quakesPosition] = position.word
    }

    init(_ reply: Reply, _ settings: ServerSettings) {
        self.init(common: reply.status, settings)
        // Responses with status 204 or 304 have no body, so they have no fields that describe a body.
        if ![204, 304].contains(reply.status) {
            headerFields[.contentType] = reply.contentType
            headerFields[.contentLength] = "\(reply.body.count)"
        }
        headerFields[.cacheControl] = "no-cache"
        for field in reply.headers { headerFields[field.name] = field.value }
    }

    private init(common status: Int, _ settings: ServerSettings) {
        self.init(status: .init(integerLiteral: status))
        headerFields[.date] = Instant.now.internetDate(zone: "GMT")
        headerFields[.server] = "quakes/\(settings.version)"
        headerFields[.accessControlAllowOrigin] = "*"
        headerFields[.accessControlExposeHeaders] = "ETag, Quakes-Position, Quakes-Token"
        headerFields[.xContentTypeOptions] = "nosniff"
    }
}

extension HTTPField.Name {
    /// The token of the catalogue's state that an answer shows. An answer `asof` a token or a time has neither of these two fields.
    static let quakesToken = HTTPField.Name("Quakes-Token")!
    /// The position of the catalogue's state that an answer shows. A stream of changes can continue from this position.
    static let quakesPosition = HTTPField.Name("Quakes-Position")!
    static let referrerPolicy = HTTPField.Name("Referrer-Policy")!
    static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
