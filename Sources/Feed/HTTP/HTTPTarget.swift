import FoundationEssentials

/// What a request asks for: an http or https URL without credentials and fragment.
struct HTTPTarget: Hashable {
    let url: String
    let isSecure: Bool
    let host: String
    let port: Int
    /// `HOST:PORT`, without the scheme's own port: the value of the field Host.
    let authority: String

    /// Nil when the text is no http or https URL.
    init?(_ text: String) {
        guard let url = URL(string: text.withoutUserInfo) else { return nil }
        self.init(url)
    }

    private init?(_ url: URL) {
        guard let components = URLComponents(url: url, resolvingAgainstBaseURL: true),
            let scheme = components.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = components.encodedHost, !host.isEmpty
        else { return nil }
        isSecure = scheme == "https"
        port = components.port ?? (isSecure ? 443 : 80)
        guard (1...65_535).contains(port) else { return nil }
        self.host = host.lowercased().filter { $0 != "[" && $0 != "]" }
        let path = components.percentEncodedPath.isEmpty ? "/" : components.percentEncodedPath
        let query = components.percentEncodedQuery.map { "?\($0)" } ?? ""
        // Written one way, so that the same target is known again.
        authority =
            (self.host.contains(":") ? "[\(self.host)]" : self.host)
            + (port == (isSecure ? 443 : 80) ? "" : ":\(port)")
        self.url = "\(scheme)://\(authority)\(path)\(query)"
    }

    /// Where `Location: TEXT` leads to; nil when that is no http or https URL.
    func redirected(to location: String) -> HTTPTarget? {
        URL(string: url).flatMap { URL(string: location, relativeTo: $0) }.flatMap(HTTPTarget.init)
    }

    func hasSameOrigin(as other: HTTPTarget) -> Bool {
        (isSecure, host, port) == (other.isSecure, other.host, other.port)
    }
}
