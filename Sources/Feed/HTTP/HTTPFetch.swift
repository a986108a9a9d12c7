import Curl

/// Reads a feed over HTTP: repeats failed attempts, and follows redirects within each attempt.
struct HTTPFetch {
    private static let redirectLimit = 5

    let url: String
    let validators: Validators?
    let options: FetchOptions

    init(_ url: String, ifChangedSince validators: Validators?, options: FetchOptions) {
        self.url = url
        self.validators = validators == Validators() ? nil : validators
        self.options = options
    }

    /// A failed attempt is not repeated once `body` has received a byte.
    ///
    /// - Throws: `FeedError`; any error of `body`.
    func read(_ body: ([UInt8]) async throws -> Void) async throws -> FetchResult {
        var hasBegun = false
        var attempt = 1
        var backoff = Backoff(from: options.firstWait, to: options.longestWait)
        while true {
            do {
                return try await follow { chunk in
                    hasBegun = true
                    try await body(chunk)
                }
            } catch let failure as FetchFailure {
                guard !hasBegun, attempt < options.attempts, failure.isPassing,
                    failure.retryAfter.map({ $0 <= options.retryAfterLimit }) ?? true
                else { throw error(failure, attempt) }
                try await options.sleep(max(backoff.next(at: options.random()), failure.retryAfter ?? .zero))
                attempt += 1
            }
        }
    }

    private func error(_ failure: FetchFailure, _ attempts: Int) -> FeedError {
        var reason = failure.reason
        if let wait = failure.retryAfter, wait > options.retryAfterLimit {
            reason +=
                ", and it asks for a wait of \(wait.inWords); the limit is \(options.retryAfterLimit.inWords)"
        }
        if attempts > 1 { reason += ", after \(attempts) attempts" }
        return switch failure.status {
        case 404, 410: .noInput(path: "\(SourceName(url))", reason: reason)
        default:
            .unavailable(
                url: "\(SourceName(url))", reason: reason, status: failure.status,
                retryAfter: failure.retryAfter)
        }
    }

    private func follow(_ body: ([UInt8]) async throws -> Void) async throws -> FetchResult {
        guard !SourceName(url).wasName else { throw FetchFailure(FetchFailure.isName) }
        guard let first = HTTPTarget(url) else { throw FetchFailure(FetchFailure.noURL) }
        var target = first
        var visited: Set = [first]
        while true {
            let outcome: HTTPExchange.Outcome
            do {
                outcome = try await HTTPExchange(
                    target: target, credentials: target.hasSameOrigin(as: first) ? url.userInfo : nil,
                    proxy: options.proxies.proxy(for: target), validators: validators, options: options,
                    // The certificates are read only for https, because reading the system's certificates takes longer than a
                    // request over plain HTTP.
                    authorities: target.isSecure ? options.authorities.map(Self.trusting) : nil
                ).run(body)
            } catch var failure as FetchFailure where target != first {
                failure.reason = "redirected to \(SourceName(target.url)): \(failure.reason)"
                throw failure
            }
            switch outcome {
            case .result(let result): return result
            case .redirect(let location):
                target = try next(after: target, location)
                guard visited.insert(target).inserted else { throw FetchFailure("it redirects in a circle") }
                guard visited.count <= Self.redirectLimit + 1 else {
                    throw FetchFailure("it redirects more than \(Self.redirectLimit) times")
                }
            }
        }
    }

    private func next(after target: HTTPTarget, _ location: String) throws(FetchFailure) -> HTTPTarget {
        guard let next = target.redirected(to: location) else {
            throw FetchFailure("it redirects to something that is not an http or https URL")
        }
        guard next.isSecure || !target.isSecure else {
            throw FetchFailure("it redirects from https to http, where anyone could change the feed")
        }
        return next
    }

    private static func trusting(_ path: String) throws -> [UInt8] {
        guard let trusted = trustedAuthorities(inFile: path) else {
            throw FeedError.noInput(path: path, reason: "not a readable file of PEM certificates")
        }
        return trusted
    }
}
