import CCurl

/// One request, its redirects and the response.
struct HTTPExchange: Sendable {
    private static let redirectLimit = 5

    let target: HTTPTarget
    let credentials: (user: String, password: String)?
    let proxy: Proxy?
    let validators: Validators?
    let options: FetchOptions
    /// PEM certificates of the authorities to trust; nil for the system's.
    let authorities: [UInt8]?

    /// - Throws: `FetchFailure`, `FeedError`, `CancellationError`, what `body` throws.
    func run(_ body: ([UInt8]) async throws -> Void) async throws -> FetchResult {
        let transfer = Transfer(self)
        do {
            let head = try await transfer.head()
            switch head.status {
            case 200:
                try await decode(head, transfer, body)
                return .document(head.validators, freshFor: head.freshFor)
            case 304 where validators != nil: return .notModified(freshFor: head.freshFor)
            default: throw FetchFailure(head)
            }
        } catch var failure as FetchFailure {
            if let url = await transfer.redirectedTo {
                failure.reason = "redirected to \(url.withoutSecrets): \(failure.reason)"
            }
            throw failure
        }
    }

    private func decode(
        _ head: HTTPHead, _ transfer: Transfer, _ body: ([UInt8]) async throws -> Void
    ) async throws {
        if let encoding = head.unknownContentEncoding {
            throw FetchFailure("its content encoding is \(encoding), but only gzip was requested")
        }
        var decoder = ContentDecoder(limit: options.inflatedLimit)
        var arrival = Arrival(length: head["content-length"].first.flatMap { Int($0) })
        while let chunk = try await transfer.chunk() {
            arrival.bytes += chunk.count
            options.arrived(arrival)
            try await decoder.decode(chunk, body)
        }
        try await decoder.finish(body)
    }

    // MARK: The request

    func configure(_ handle: CurlHandle) {
        handle.set(CURLOPT_URL, target.url)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(options.connectTimeout / .milliseconds(1))))
        handle.set(CURLOPT_NOSIGNAL, 1)
        // A name lookup that is still under way when the time is up must not hold the thread.
        handle.set(CURLOPT_QUICK_EXIT, 1)
        if let authorities { handle.set(CURLOPT_CAINFO_BLOB, authorities) }
        if let (user, password) = credentials {
            handle.set(CURLOPT_USERNAME, user)
            handle.set(CURLOPT_PASSWORD, password)
        }
        handle.set(CURLOPT_FOLLOWLOCATION, 1)
        handle.set(CURLOPT_MAXREDIRS, Self.redirectLimit)
        // Over http, anyone could change the feed.
        handle.set(CURLOPT_REDIR_PROTOCOLS_STR, target.isSecure ? "https" : "http,https")
        handle.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // Empty rather than unset: otherwise libcurl would read the process's environment.
        handle.set(CURLOPT_PROXY, proxy?.url ?? "")
        handle.set(CURLOPT_NOPROXY, options.proxies.exceptions)
        handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if let proxy, let user = proxy.user {
            handle.set(CURLOPT_PROXYUSERNAME, user)
            handle.set(CURLOPT_PROXYPASSWORD, proxy.password)
        }
        let product = options.version.map { "quakes/\($0)" } ?? "quakes"
        let contact = options.contact.map { "; \($0.filter { !$0.isNewline })" } ?? ""
        handle.set(CURLOPT_USERAGENT, "\(product) (+https://example.org/quakes\(contact))")
        handle.set(fields: fields)
    }

    /// The fields that libcurl does not add by itself. A field without a value is not sent.
    private var fields: [String] {
        var fields = [
            "Accept: application/geo+json, application/json, */*;q=0.1", "Accept-Encoding: gzip",
            "Connection: close", "Proxy-Connection:",
        ]
        if let etag = validators?.etag { fields.append("If-None-Match: \(etag)") }
        if let date = validators?.lastModified { fields.append("If-Modified-Since: \(date)") }
        return fields.filter { !$0.contains(where: \.isNewline) }
    }
}
