import Alerts
import CCurl
import Curl
import Feed

extension Courier {
    /// The longest wait that a receiver can cause with `Retry-After`.
    private static let retryAfterLimit = Duration.seconds(86_400)

    /// Posts a body to a webhook or to ntfy. Only a status of 2xx is success.
    ///
    /// - Parameters:
    ///   - url: the receiver's URL. Failures contain only the URL's host.
    func post(_ body: [UInt8], to url: String, fields: [String]) async throws {
        let target = try target(url)
        let host = target.host
        let authorities = try certificates(for: url)
        let transfer = CurlTransfer(endsAtHead: true) { handle in
            handle.set(CURLOPT_URL, target.url)
            handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
            handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            handle.set(CURLOPT_CONNECTTIMEOUT_MS, options.connectTimeout)
            handle.set(CURLOPT_TIMEOUT_MS, options.webhookTimeout)
            handle.set(CURLOPT_USERAGENT, options.version.map { "quakes/\($0)" } ?? "quakes")
            handle.set(
                CURLOPT_HTTPHEADER,
                fields + ["Content-Type: application/json", "Connection: close", "Expect:"])
            if let authorities { handle.set(CURLOPT_CAINFO_BLOB, authorities) }
            if options.publicWebhooksOnly { handle.refusePrivateAddresses() }
            handle.set(body: body)
        }
        let outcome = try await transfer.run()
        guard outcome.result == CURLE_OK else {
            let limit = outcome.wasConnected ? options.webhookTimeout : options.connectTimeout
            throw failure(outcome, host, limit: limit)
        }
        switch outcome.status {
        case 200..<300: return
        case 300..<400:
            throw DeliveryFailure(
                "\(host): HTTP status \(outcome.status): redirects are not followed; use the URL to which it redirects"
            )
        case 410:
            throw DeliveryFailure(
                "\(host): HTTP status 410: it accepts no more messages", isFinal: true, isGone: true)
        default:
            throw DeliveryFailure(
                "\(host): HTTP status \(outcome.status)",
                retryAfter: outcome.retryAfter.map { min($0, Self.retryAfterLimit) })
        }
    }

    /// - Throws: `DeliveryFailure`. Its text does not contain the URL, because the URL may be a secret.
    private func target(_ url: String) throws(DeliveryFailure) -> HTTPTarget {
        guard url.userInfo == nil, let target = HTTPTarget(url) else {
            throw DeliveryFailure(
                "the URL must begin with http or https, and have a host but no user or password")
        }
        return target
    }

    /// The certificates to trust; nil if only the system's certificates are trusted.
    func certificates(for url: String) throws -> [UInt8]? {
        guard let path = options.authorities, !url.lowercased().hasPrefix("http:") else { return nil }
        guard let trusted = trustedAuthorities(inFile: path) else {
            throw DeliveryFailure("\(path) can't be read as PEM certificates")
        }
        return trusted
    }

    func failure(_ outcome: CurlTransfer.Outcome, _ host: String, limit: Duration) -> DeliveryFailure {
        func failure(_ reason: String) -> DeliveryFailure { DeliveryFailure("\(host): \(reason)") }
        if outcome.wasRefusedAddress {
            return failure("its address is not public, and --public-webhooks-only is set")
        }
        return switch outcome.result {
        case CURLE_COULDNT_RESOLVE_HOST: failure("host not found")
        case CURLE_COULDNT_CONNECT: failure("no connection")
        case CURLE_OPERATION_TIMEDOUT: failure("no answer within \(limit.components.seconds) seconds")
        case CURLE_PEER_FAILED_VERIFICATION:
            // OpenSSL's error codes start at 2. If there is no such code, libcurl's check of the host name has failed.
            failure(
                outcome.trust <= 1
                    ? "its TLS certificate is for another host"
                    : "its TLS certificate is not trusted; to trust your own authority, use --ca-file")
        case CURLE_USE_SSL_FAILED: failure("it offers no encryption (STARTTLS)")
        case CURLE_LOGIN_DENIED: failure("it refuses the user or the password")
        case CURLE_SSL_CONNECT_ERROR: failure("the TLS handshake failed")
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE:
            failure("the connection ended before the answer")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            failure("its answer violates the protocol")
        default: failure(String(cString: curl_easy_strerror(outcome.result)))
        }
    }
}
