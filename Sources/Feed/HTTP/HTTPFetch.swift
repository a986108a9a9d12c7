import CCurl
import FoundationEssentials

/// Reads a feed over HTTP, and repeats attempts that fail.
struct HTTPFetch {
    let url: String
    let validators: Validators?
    let options: FetchOptions

    init(_ url: String, ifChangedSince validators: Validators?, options: FetchOptions) {
        self.url = url
        self.validators = validators == Validators() ? nil : validators
        self.options = options
    }

    /// Hands over the feed. There is no further attempt once a byte has been handed over.
    ///
    /// - Throws: `FeedError`, also if the file of authorities is needed and can't be read; what `body` throws.
    func read(_ body: ([UInt8]) async throws -> Void) async throws -> FetchResult {
        var hasBegun = false
        var attempts = 1
        var backoff = Backoff(from: options.firstWait, to: options.longestWait)
        while true {
            do {
                return try await attempt { chunk in
                    hasBegun = true
                    try await body(chunk)
                }
            } catch let failure as FetchFailure {
                guard !hasBegun, attempts < options.attempts, failure.isPassing,
                    failure.retryAfter.map({ $0 <= options.retryAfterLimit }) ?? true
                else { throw error(failure, attempts) }
                try await options.sleep(max(backoff.next(at: options.random()), failure.retryAfter ?? .zero))
                attempts += 1
            }
        }
    }

    private func error(_ failure: FetchFailure, _ attempts: Int) -> FeedError {
        var reason = failure.reason
        if let wait = failure.retryAfter, wait > options.retryAfterLimit {
            reason +=
                ". The server asks for a wait of \(wait.inWords); the limit is \(options.retryAfterLimit.inWords)"
        }
        if attempts > 1 { reason += ", after \(attempts) attempts" }
        return switch failure.status {
        case 404, 410: .noInput(path: url.withoutSecrets, reason: reason)
        default:
            .unavailable(
                url: url.withoutSecrets, reason: reason, status: failure.status,
                retryAfter: failure.retryAfter)
        }
    }

    private func attempt(_ body: ([UInt8]) async throws -> Void) async throws -> FetchResult {
        guard !SourceName(url).wasName else { throw FetchFailure(FetchFailure.isName) }
        guard let target = HTTPTarget(url) else { throw FetchFailure(FetchFailure.noURL) }
        return try await HTTPExchange(
            target: target, credentials: url.userInfo, proxy: options.proxies.proxy(for: target),
            validators: validators, options: options,
            // Reading the system's certificates takes longer than a plain request.
            authorities: target.isSecure ? options.authorities.map(Self.trusting) : nil
        ).run(body)
    }

    /// The certificates of a PEM file and those of the system.
    private static func trusting(_ path: String) throws -> [UInt8] {
        let own = FileManager.default.contents(atPath: path) ?? Data()
        guard String(decoding: own, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----") else {
            throw FeedError.noInput(path: path, reason: "no file of PEM certificates that can be read")
        }
        let system = curl_version_info(CURLVERSION_SEVENTH).pointee.cainfo.flatMap {
            FileManager.default.contents(atPath: String(cString: $0))
        }
        return Array(own + "\n".utf8 + (system ?? Data()))
    }
}
