import CCurl

/// The target of a request: an http or https URL without credentials and fragment.
struct HTTPTarget {
    let url: String
    let isSecure: Bool
    let host: String

    /// Nil if the text is not an http or https URL.
    init?(_ text: String) {
        // libcurl takes http:///x for http://x.
        guard !["http:///", "https:///"].contains(where: text.lowercased().hasPrefix), let handle = curl_url()
        else { return nil }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_URLENCODE | CURLU_ALLOW_SPACE)
        guard curl_url_set(handle, CURLUPART_URL, text.withoutUserInfo, flags) == CURLUE_OK else {
            return nil
        }
        curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        func get(_ part: CURLUPart) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            defer { curl_free(text) }
            guard curl_url_get(handle, part, &text, UInt32(CURLU_NO_DEFAULT_PORT)) == CURLUE_OK else {
                return nil
            }
            return text.map { String(cString: $0) }
        }
        guard let scheme = get(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
            let host = get(CURLUPART_HOST), get(CURLUPART_PORT) != "0", let url = get(CURLUPART_URL)
        else { return nil }
        self.url = url
        self.host = host
        isSecure = scheme == "https"
    }

    /// `HOST:PORT`, without the port if it is the scheme's default.
    var authority: String { String(url.split(separator: "/")[1]) }
}
