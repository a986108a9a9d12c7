import CCurl
import Curl
import Glibc

/// Why one attempt to fetch a feed failed.
struct FetchFailure: Error {
    var reason: String
    /// Whether another attempt may succeed.
    var isPassing = false
    var status: Int?
    var retryAfter: Duration?

    init(_ reason: String, isPassing: Bool = false) {
        self.reason = reason
        self.isPassing = isPassing
    }

    init(_ head: HTTPHead) {
        status = head.status
        reason = "HTTP status \(head.statusText)"
        isPassing = [408, 429, 500, 502, 503, 504].contains(head.status)
        retryAfter = isPassing ? head.retryAfter : nil
    }

    init(_ result: CURLcode, _ handle: CurlHandle, _ exchange: HTTPExchange) {
        let text = handle.failure
        switch result {
        case _ where handle[CURLINFO_HTTP_CONNECTCODE] == 407:
            self.init("it asks for a user and a password; add them to the proxy's URL")
        case _ where handle[CURLINFO_HTTP_CONNECTCODE] >= 300:
            self.init("it refuses to connect to the feed's server", isPassing: true)
        case CURLE_COULDNT_RESOLVE_HOST: self.init("host \(exchange.target.host) not found", isPassing: true)
        case CURLE_COULDNT_RESOLVE_PROXY: self.init("host not found", isPassing: true)
        case CURLE_COULDNT_CONNECT:
            let error = handle[CURLINFO_OS_ERRNO]
            self.init(error == 0 ? text : String(cString: strerror(Int32(error))), isPassing: true)
        // libcurl limits only the time to connect.
        case CURLE_OPERATION_TIMEDOUT:
            self.init("no connection within \(exchange.options.connectTimeout.inWords)", isPassing: true)
        case CURLE_PEER_FAILED_VERIFICATION:
            // OpenSSL's own errors have numbers greater than 1. A smaller number means that libcurl's check of the host name has
            // failed.
            let isTrusted = handle[CURLINFO_SSL_VERIFYRESULT] <= 1
            self.init(isTrusted ? "its TLS certificate is for another host" : Self.untrusted)
        case CURLE_SSL_CACERT_BADFILE:
            self.init("the certificates in \(exchange.options.authorities ?? "the system") can't be read")
        case CURLE_SSL_CONNECT_ERROR:
            // If the server violated the protocol, the text contains OpenSSL's error number. If the connection only ended, the
            // text has no such number.
            let isPassing = !text.contains("error:") || text.contains("unexpected eof")
            self.init("the TLS handshake failed: \(text)", isPassing: isPassing)
        case CURLE_RECV_ERROR where text.contains("chunked-encoding"),
            CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            self.init("it does not speak HTTP: \(text)")
        case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
            self.init("the connection ended before the feed did", isPassing: true)
        default: self.init(text)
        }
    }

    static let noURL = "not a valid URL"
    static let isName = "this is a source's name, without the secret parts of its URL; give the whole URL"
    private static let untrusted = """
        its TLS certificate is not trusted (self-signed, expired, or of an unknown authority); to trust \
        your own authority, use --ca-file or SSL_CERT_FILE
        """
}

extension Duration {
    /// `10 seconds`, `0.25 seconds`.
    var inWords: String {
        let seconds = self / .seconds(1)
        return seconds == 1 ? "1 second" : "\(Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)") seconds"
    }
}
