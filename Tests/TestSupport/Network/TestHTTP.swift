/// A request that a test server has received.
public struct TestRequest: Sendable {
    public let uri: String
    public let headers: TestHeaders

    /// A request for this URI, without headers.
    public init(uri: String) {
        self.uri = uri
        headers = [:]
    }

    /// Reads a request's head, up to the empty line.
    init(head: String) {
        let lines = head.split(separator: "\r\n")
        uri = lines.first?.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        headers = TestHeaders(
            fields: lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                return (String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : "")
            })
    }
}

public struct TestHeaders: Sendable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
    var fields: [(name: String, value: String)]

    init(fields: [(name: String, value: String)]) {
        self.fields = fields.map { ($0.name.lowercased(), $0.value) }
    }

    public init(dictionaryLiteral fields: (String, String)...) {
        self.init(fields: fields.map { (name: $0.0, value: $0.1) })
    }

    /// The values of all fields with this name. The name must be in lower case.
    public subscript(name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    public func contains(name: String) -> Bool { !self[name].isEmpty }

    public var description: String { fields.map { "\($0.name): \($0.value)\r\n" }.joined() }
}

/// A status, written as `404 Not Found`.
public enum TestStatus: String, Sendable, CustomStringConvertible {
    case ok = "200 OK"
    case noContent = "204 No Content"
    case partialContent = "206 Partial Content"
    case multipleChoices = "300 Multiple Choices"
    case movedPermanently = "301 Moved Permanently"
    case found = "302 Found"
    case seeOther = "303 See Other"
    case notModified = "304 Not Modified"
    case useProxy = "305 Use Proxy"
    case temporaryRedirect = "307 Temporary Redirect"
    case permanentRedirect = "308 Permanent Redirect"
    case badRequest = "400 Bad Request"
    case unauthorized = "401 Unauthorized"
    case forbidden = "403 Forbidden"
    case notFound = "404 Not Found"
    case requestTimeout = "408 Request Timeout"
    case gone = "410 Gone"
    case tooLarge = "413 Content Too Large"
    case unprocessableEntity = "422 Unprocessable Entity"
    case tooManyRequests = "429 Too Many Requests"
    case internalServerError = "500 Internal Server Error"
    case notImplemented = "501 Not Implemented"
    case badGateway = "502 Bad Gateway"
    case serviceUnavailable = "503 Service Unavailable"
    case gatewayTimeout = "504 Gateway Timeout"

    public var code: Int { Int(rawValue.prefix(3))! }
    public var description: String { rawValue }
}
