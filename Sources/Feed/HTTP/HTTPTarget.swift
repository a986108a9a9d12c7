import CCurl

/// The target of a request: an http or https URL without credentials and fragment.
package struct HTTPTarget: Sendable, Hashable {
    package let url: String
    let isSecure: Bool
    package let host: String
    let port: Int

    /// nil if the text is neither an http or https URL nor a URL relative to `base`.
    package init?(_ text: String, relativeTo base: String? = nil) {
        let text = text.withoutUserInfo
        // libcurl would read http:///x as http://x.
        guard !["http:///", "https:///"].contains(where: text.lowercased().hasPrefix), let handle = curl_url()
        else { return nil }
        defer { curl_url_cleanup(handle) }
        for text in [base, text].compactMap(\.self) {
            let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE)
            guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
        }
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT] {
            curl_url_set(handle, part, nil, 0)
        }
        func get(_ part: CURLUPart, _ flags: Int32) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            defer { curl_free(text) }
            guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK else { return nil }
            return text.map { String(cString: $0) }
        }
        guard let scheme = get(CURLUPART_SCHEME, 0), scheme == "http" || scheme == "https",
            let host = get(CURLUPART_HOST, 0)?.lowercased(),
            curl_url_set(handle, CURLUPART_HOST, host, 0) == CURLUE_OK,
            let port = get(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap(Int.init), port > 0,
            let url = get(CURLUPART_URL, CURLU_NO_DEFAULT_PORT)
        else { return nil }
        self.url = url
        self.host = host.filter { $0 != "[" && $0 != "]" }
        self.port = port
        isSecure = scheme == "https"
    }

    /// `HOST:PORT`, without the port if it is the scheme's default.
    var authority: String { String(url.split(separator: "/")[1]) }

    func redirected(to location: String) -> HTTPTarget? { HTTPTarget(location, relativeTo: url) }

    func hasSameOrigin(as other: HTTPTarget) -> Bool {
        (isSecure, host, port) == (other.isSecure, other.host, other.port)
    }
}
