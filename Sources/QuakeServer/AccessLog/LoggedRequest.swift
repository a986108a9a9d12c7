import Feed
import HTTPTypes

struct LoggedRequest: Sendable {
    let time = Instant.now
    let client: String
    var method = ""
    /// The target without values that may be secret. Empty if the request could not be read.
    var target = ""
    var version = ""
    /// 0 if the client went away before the end of the answer.
    var status = 0
    /// The number of bytes of the answer that were sent, including its head.
    var bytes = 0
    var seconds = 0.0
    var referrer: String?
    var agent: String?

    /// The target, with values only for known parameters. The values of other parameters may be secret, such as keys that were
    /// meant for another service.
    static func target(_ path: String, query: String?) -> String {
        guard let query else { return path }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard let end = part.firstIndex(of: "=") else {
                return EventParameter.named["\(part)"] == nil ? "…" : "\(part)"
            }
            let name = String(part[..<end])
            return EventParameter.named[name] != nil || ["after", "wait"].contains(name)
                ? "\(part)" : "\(name)=…"
        }
        return "\(path)?\(parts.joined(separator: "&"))"
    }

    /// A URL without its user, its query and its fragment.
    static func referrer(_ url: String) -> String {
        let bare = url.prefix { $0 != "?" && $0 != "#" }
        guard let scheme = bare.firstRange(of: "://") else { return String(bare) }
        let authority = bare[scheme.upperBound...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(bare) }
        return String(bare[..<scheme.upperBound] + bare[at...].dropFirst())
    }

    var json: String {
        var object: JSONObject = ["time": time]
        func append(_ name: String, _ text: String?) {
            if let text, !text.isEmpty { object.append(name, text) }
        }
        append("client", client)
        append("method", method)
        append("target", target)
        append("protocol", version)
        object.append("status", status)
        object.append("bytes", bytes)
        object.append("seconds", seconds)
        append("referrer", referrer)
        append("agent", agent)
        return object.jsonText
    }
}

extension LoggedRequest {
    init(_ request: HTTPRequest, _ target: Target, of client: Client, status: Int, _ time: Duration) {
        self.client = client.address(request.headerFields)
        method = request.method.rawValue
        self.target = Self.target(target.path, query: target.query)
        version = client.takesChunks ? "HTTP/1.1" : "HTTP/1.0"
        (self.status, bytes, seconds) = (status, client.takeSent(), time / .seconds(1))
        referrer = request.headerFields[.referer].map(Self.referrer)
        agent = request.headerFields[.userAgent]
    }
}
