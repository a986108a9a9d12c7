import CCurl
import Curl

struct HTTPExchange: Sendable {
    enum Outcome {
        case result(FetchResult)
        case redirect(String)
    }

    let target: HTTPTarget
    let credentials: (user: String, password: String)?
    let proxy: Proxy?
    let validators: Validators?
    let options: FetchOptions
    /// The PEM certificates of the trusted authorities; nil for the system's.
    let authorities: [UInt8]?

    /// - Throws: `FetchFailure`, `FeedError`, `CancellationError`, any error of `body`.
    func run(_ body: ([UInt8]) async throws -> Void) async throws -> Outcome {
        let transfer = Transfer(self)
        let head = try await head(of: transfer)
        switch head.status {
        case 200:
            try await decode(head, transfer, body)
            return .result(.document(head.validators, freshFor: head.freshFor))
        case 304 where validators != nil: return .result(.notModified(freshFor: head.freshFor))
        case 301, 302, 303, 307, 308:
            guard let location = head["location"].first else { fallthrough }
            return .redirect(location)
        default: throw FetchFailure(head)
        }
    }

    private func head(of transfer: Transfer) async throws -> HTTPHead {
        do {
            return try await transfer.head()
        } catch var failure as FetchFailure {
            if let proxy { failure.reason = "proxy \(proxy): \(failure.reason)" }
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

    func configure(_ handle: CurlHandle) {
        handle.set(CURLOPT_URL, target.url)
        handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
        handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout)
        if let authorities { handle.set(CURLOPT_CAINFO_BLOB, authorities) }
        if let (user, password) = credentials {
            handle.set(CURLOPT_USERNAME, user)
            handle.set(CURLOPT_PASSWORD, password)
        }
        if let proxy {
            handle.set(CURLOPT_PROXY, "http://\(proxy)")
            handle.set(CURLOPT_PROXYPORT, proxy.target.port)
            handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        }
        if let proxy, let user = proxy.user {
            handle.set(CURLOPT_PROXYUSERNAME, user)
            handle.set(CURLOPT_PROXYPASSWORD, proxy.password)
        }
        let product = options.version.map { "quakes/\($0)" } ?? "quakes"
        let contact = options.contact.map { "; \($0.filter { !$0.isNewline })" } ?? ""
        handle.set(CURLOPT_USERAGENT, "\(product) (+https://example.org/quakes\(contact))")
        handle.set(CURLOPT_HTTPHEADER, fields)
    }

    /// The header fields that libcurl does not add itself. A field without a value keeps libcurl from sending that field.
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
