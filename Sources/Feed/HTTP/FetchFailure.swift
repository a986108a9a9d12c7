import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Why one attempt to fetch a feed failed.
struct FetchFailure: Error {
    var reason: String
    /// Whether it may go away by itself.
    var isPassing = false
    var status: HTTPResponseStatus?
    /// The wait that the server asks for.
    var retryAfter: Duration?

    init(_ reason: String, isPassing: Bool = false) {
        self.reason = reason
        self.isPassing = isPassing
    }

    init(_ head: HTTPClientResponse) {
        status = head.status
        reason = "HTTP status \(head.status)"
        isPassing = [408, 429, 500, 502, 503, 504].contains(head.status.code)
        retryAfter = isPassing ? head.headers.retryAfter : nil
    }

    /// What the client says, in words.
    ///
    /// - Parameter inBody: the head of the response has come.
    init(_ error: any Error, inBody: Bool, options: FetchOptions) {
        switch error {
        case let error as FetchFailure: self = error
        case let error as NIOConnectionError:
            self.init(
                error.connectionErrors.first.map { Self($0.error, inBody: inBody, options: options).reason }
                    ?? "host \(error.host) not found", isPassing: true)
        case let error as IOError:
            self.init(
                inBody ? Self.endedEarly : String(cString: strerror(error.errnoCode)), isPassing: true)
        case HTTPParserError.invalidEOFState, is ChannelError: self.init(Self.endedEarly, isPassing: true)
        case let error as HTTPParserError: self.init("it does not speak HTTP: \(error)")
        case let error as NIOSSLError: self.init(error)
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            self.init("its TLS certificate is for another host")
        case let error as HTTPClientError: self.init(error, options)
        default: self.init("\(error)")
        }
    }

    private init(_ error: HTTPClientError, _ options: FetchOptions) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout, .getConnectionFromPoolTimeout:
            self.init("no connection within \(options.connectTimeout.inWords)", isPassing: true)
        case .deadlineExceeded:
            self.init("no answer within \(options.headTimeout.inWords)", isPassing: true)
        case .readTimeout: self.init("nothing came for \(options.readTimeout.inWords)", isPassing: true)
        case .remoteConnectionClosed: self.init(Self.endedEarly, isPassing: true)
        case .proxyAuthenticationRequired:
            self.init("it asks for a user and a password, which belong into the proxy's URL")
        case .invalidProxyResponse: self.init("it refuses to connect to the feed's server", isPassing: true)
        case .invalidURL, .emptyHost, .emptyScheme: self.init(Self.noURL)
        default: self.init("\(error)")
        }
    }

    private init(_ error: NIOSSLError) {
        switch error {
        case .handshakeFailed(.sslError(let errors)):
            let reasons = errors.map { "\($0)" }
            if reasons.contains(where: { $0.contains("CERTIFICATE_VERIFY_FAILED") }) {
                self.init(Self.untrusted)
            } else {
                let isPassing = errors.contains(.eofDuringHandshake)
                self.init(
                    "the TLS handshake failed: \(reasons.joined(separator: ", "))", isPassing: isPassing)
            }
        case .unableToValidateCertificate, .noCertificateToValidate: self.init(Self.untrusted)
        case .uncleanShutdown: self.init(Self.endedEarly, isPassing: true)
        default: self.init("TLS failed: \(error)", isPassing: true)
        }
    }

    static let noURL = "not a valid URL"
    private static let endedEarly = "the connection ended before the feed did"
    private static let untrusted = """
        its TLS certificate is not trusted (self-signed, expired, or of an unknown authority); an authority of your \
        own is named by --ca-file or SSL_CERT_FILE
        """
}

extension Duration {
    /// `10 seconds`, `0.25 seconds`.
    var inWords: String {
        let seconds = self / .seconds(1)
        return seconds == 1 ? "1 second" : "\(Int(exactly: seconds).map { "\($0)" } ?? "\(seconds)") seconds"
    }
}
