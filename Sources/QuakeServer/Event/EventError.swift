import Feed

/// Why a request has no answer.
public struct EventError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A status of HTTP. 204 means that nothing was found; it has no body.
    public let status: Int
    public let details: String

    public init(_ status: Int, _ details: String) {
        self.status = status
        self.details = details
    }

    public var description: String { "\(status) \(Self.names[status] ?? "Error"): \(details)" }

    /// The body, text/plain, as the standard has it.
    ///
    /// - Parameters:
    ///   - request: the URL that was asked for.
    ///   - service: the URL of the service, `…/fdsnws/event/1/`.
    public func text(request: String, service: String, at moment: Instant = .now) -> String {
        """
        Error \(status): \(Self.names[status] ?? "Error")

        \(details)

        Usage details are available from \(service)

        Request:
        \(request)

        Request Submitted:
        \(moment)

        Service version:
        \(EventService.version)

        """
    }

    private static let names = [
        204: "No Content", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict",
        413: "Request Entity Too Large", 414: "Request URI Too Long", 429: "Too Many Requests",
        500: "Internal Server Error",
        503: "Service Unavailable",
    ]
}
