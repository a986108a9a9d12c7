import Feed
import HTTPTypes

/// What the access log says of a request.
struct LoggedRequest: Sendable {
    let time = Instant.now
    /// The address of the client.
    let client: String
    var method = ""
    /// Without what may be a secret. Empty if the request could not be read.
    var target = ""
    var version = ""
    /// 0 if the client went away before the end of the answer.
    var status = 0
    /// How many bytes of the answer were sent, its head included.
    var bytes = 0
    var seconds = 0.0
    var referrer: String?
    var agent: String?

    /// A target with the values of those parameters only that the service knows: all others may be anything, such as keys
    /// that were meant for somebody else.
    static func target(_ path: String, query: String?) -> String {
        guard let query else { return path }
        let parts = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
            guard let end = part.firstIndex(of: "=") else {
                return EventParameter.named["\(part)"] == nil ? "…" : "\(part)"
            }
            let name = String(part[..<end])
            return EventParameter.named[name] != nil || ["after", "until", "wait"].contains(name)
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

    var combined: String {
        let line = target.isEmpty ? "-" : "\(method) \(target) \(version)"
        return """
            \(client) - - [\(time.logTime)] "\(Self.escaped(line))" \(status) \(bytes) \
            "\(Self.escaped(referrer ?? "-"))" "\(Self.escaped(agent ?? "-"))"
            """
    }

    var json: String {
        func member(_ name: String, _ text: String?) -> String {
            guard let text, !text.isEmpty else { return "" }
            return ",\"\(name)\":\(jsonString(text))"
        }
        return """
            {"time":"\(time)"\(member("client", client))\(member("method", method))\(member("target", target))\
            \(member("protocol", version)),"status":\(status),"bytes":\(bytes),"seconds":\(seconds)\
            \(member("referrer", referrer))\(member("agent", agent))}
            """
    }

    /// As Apache does: a quote and a backslash behind a backslash, and what is no printable ASCII as `\x` and two digits. So
    /// no client can forge a line, or move a terminal's cursor.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): result += "\\\(Character(Unicode.Scalar(byte)))"
            case 0x20..<0x7F: result.append(Character(Unicode.Scalar(byte)))
            default: result += "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
            }
        }
        return result
    }
}

extension Instant {
    /// Such as `06/Nov/1994:08:49:37 +0000`.
    fileprivate var logTime: String {
        // Sun, 06 Nov 1994 08:49:37 GMT
        let parts = httpDate.split(separator: " ")
        return "\(parts[1])/\(parts[2])/\(parts[3]):\(parts[4]) +0000"
    }
}

extension LoggedRequest {
    /// - Parameter time: how long it took.
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
