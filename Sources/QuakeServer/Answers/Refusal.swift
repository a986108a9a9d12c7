import Feed
import HTTPTypes

/// Why a request is refused, as one sentence for people.
struct Refusal: Error, Sendable, Equatable, CustomStringConvertible {
    /// The HTTP status. A 204 means that nothing was found; its response has no body.
    let status: Int
    let sentence: String

    init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }

    static func unavailable(_ sentence: String) -> Refusal { Refusal(503, sentence) }

    var description: String { "\(status) \(Self.names[status] ?? "Error"): \(sentence)" }

    /// The text/plain body, in the form that the FDSN standard of the event service prescribes.
    ///
    /// - Parameters:
    ///   - request: the requested URL.
    ///   - service: the URL of the service, `…/fdsnws/event/1/`.
    func text(request: String, service: String, at moment: Instant = .now) -> String {
        """
        Error \(status): \(Self.names[status] ?? "Error")

        \(sentence)

        Usage details are available from \(service)

        Request:
        \(request)

        Request Submitted:
        \(moment)

        Service version:
        \(EventAPI.version)

        """
    }

    private static let names = [
        204: "No Content", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
        410: "Gone", 413: "Request Entity Too Large", 414: "Request URI Too Long", 429: "Too Many Requests",
        500: "Internal Server Error",
        503: "Service Unavailable",
    ]
}

extension Reply {
    /// - Parameter text: the body; nil for the refusal's sentence alone.
    init(_ refusal: Refusal, as text: String? = nil) {
        let text = refusal.status == 204 ? "" : text ?? "\(refusal.sentence)\n"
        self.init(status: refusal.status, body: Array(text.utf8))
        switch refusal.status {
        case 405: headers[.allow] = "GET, HEAD, OPTIONS"
        case 429, 503: headers[.retryAfter] = "5"
        default: break
        }
    }
}
