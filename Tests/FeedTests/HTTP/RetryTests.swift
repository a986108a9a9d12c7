import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct RetryTests {
    private static let feed = bytes(of: SampleFeed(count: 200))
    private static let compressed = gzip(feed)

    /// An answer that promises one byte more than it sends.
    private static func cutOff(_ body: [UInt8]) -> TestFeedServer.Answer {
        .cutOff(body, promised: body.count + 1)
    }

    private static let passing: [TestFeedServer.Answer] = [
        .whole(.requestTimeout, []), .whole(.tooManyRequests, []), .whole(.internalServerError, []),
        .whole(.badGateway, feed), .whole(.serviceUnavailable, []), .whole(.gatewayTimeout, []), .resetAtOnce,
        .raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"), cutOff([]), .cutOffChunked([]), .silent,
        .stalled([], promised: 1),
        // These bytes are too few to inflate anything. The next attempt must discard them.
        cutOff(Array(compressed.prefix(5))), cutOff([feed[0]]),
    ]

    private static func options(_ waits: Waits = Waits()) -> FetchOptions { .withoutWaiting(noting: waits) }

    /// Options with short time limits, for silent servers. On a busy machine, even a good server may exceed these limits.
    private static func impatient(_ waits: Waits = Waits()) -> FetchOptions {
        options(waits).with(\.headTimeout, .milliseconds(300)).with(\.readTimeout, .milliseconds(100))
    }

    @Test(arguments: passing)
    func aTemporaryFailureIsRetried(failing: TestFeedServer.Answer) async throws {
        let waits = Waits()
        let options =
            switch failing {
            // This limit is so long that even on a busy machine a good server does not exceed it.
            case .silent: Self.options(waits).with(\.headTimeout, .seconds(10))
            case .stalled: Self.options(waits).with(\.readTimeout, .seconds(10))
            default: Self.options(waits)
            }
        try await TestFeedServer.run(
            script: [failing, failing, .whole(.ok, Self.compressed)]
        ) { server in
            let contents = try await FeedSource(server.url("/feed")).contents(options)
            #expect(contents == Self.feed)
            #expect(server.requests.count == 3)
            #expect(waits.all == [.seconds(1), .seconds(2)])
        }
    }

    @Test func afterTheLastAttemptTheErrorCountsTheAttempts() async throws {
        try await TestFeedServer.run(script: [.whole(.badGateway, [])]) { server in
            let waits = Waits()
            var options = Self.options(waits)
            let error = await failure { _ = try await FeedSource(server.url("/feed")).contents(options) }
            #expect(
                error.map { "\($0)" }
                    == "cannot fetch \(server.url("/feed")): HTTP status 502 Bad Gateway, after 4 attempts")
            #expect(waits.all == [.seconds(1), .seconds(2), .seconds(4)])

            options.attempts = 1
            let first = await failure { _ = try await FeedSource(server.url("/feed")).contents(options) }
            #expect(
                first as? FeedError
                    == .unavailable(
                        url: server.url("/feed"), reason: "HTTP status 502 Bad Gateway", status: 502))
            #expect(server.requests.count == 5)
        }
    }

    @Test func aRefusedConnectionIsRetried() async throws {
        let port = try RefusingPort()
        let url = "http://127.0.0.1:\(port.number)/feed"
        let waits = Waits()
        let error = await failure { _ = try await FeedSource(url).contents(Self.options(waits)) }
        #expect(
            error as? FeedError
                == .unavailable(url: url, reason: "Connection refused, after 4 attempts"))
        #expect(waits.all == [.seconds(1), .seconds(2), .seconds(4)])
        withExtendedLifetime(port) {}
    }

    @Test func waitsGrowToALimitAndAreShortenedAtRandom() async throws {
        try await TestFeedServer.run(script: [.whole(.badGateway, [])]) { server in
            for (random, factor) in [(0.0, 0.5), (0.5, 0.75), (1.0, 1.0)] {
                let waits = Waits()
                let options = Self.options(waits).with(\.attempts, 8).with(\.random) { random }
                _ = await failure { _ = try await FeedSource(server.url("/feed")).contents(options) }
                #expect(waits.all == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) * factor })
            }
        }
    }

    @Test(arguments: [
        ("7", 7), ("0", 1), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 17),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 17), ("Sun Nov  6 08:49:37 1994", 17),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 1), ("soon", 1), ("-5", 1),
    ])
    func retryAfterDeterminesTheWait(retryAfter: String, seconds: Int) async throws {
        let waits = Waits()
        try await TestFeedServer.run(script: [
            .whole(
                .serviceUnavailable, [],
                headers: ["retry-after": retryAfter, "date": "Sun, 06 Nov 1994 08:49:20 GMT"]),
            .whole(.ok, Self.feed),
        ]) { server in
            _ = try await FeedSource(server.url("/feed")).contents(Self.options(waits))
            #expect(waits.all == [.seconds(seconds)])
        }
    }

    @Test func aWaitThatIsTooLongEndsTheFetch() async throws {
        let waits = Waits()
        try await TestFeedServer.run(script: [
            .whole(.tooManyRequests, [], headers: ["retry-after": "121"])
        ]) { server in
            let error = await failure {
                _ = try await FeedSource(server.url("/feed")).contents(Self.options(waits))
            }
            #expect(
                error as? FeedError
                    == .unavailable(
                        url: server.url("/feed"),
                        reason: "HTTP status 429 Too Many Requests, and it asks for a wait of "
                            + "121 seconds; the limit is 120 seconds",
                        status: 429, retryAfter: .seconds(121)))
            #expect(server.requests.count == 1)
            #expect(waits.all == [])
        }
    }

    /// The error contains the wait, so that a later attempt can respect it.
    @Test func afterTheLastAttemptTheErrorHasTheWaitThatTheServerRequested() async throws {
        try await TestFeedServer.run(script: [
            .whole(.serviceUnavailable, [], headers: ["retry-after": "60"])
        ]) { server in
            let error = await failure {
                _ = try await FeedSource(server.url("/feed")).contents(Self.options())
            }
            guard case FeedError.unavailable(_, _, 503, let retryAfter)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(retryAfter == .seconds(60))
            #expect(server.requests.count == 4)
        }
    }

    @Test func cancellationEndsAWait() async throws {
        try await TestFeedServer.run(script: [
            .whole(.serviceUnavailable, [], headers: ["retry-after": "120"])
        ]) { server in
            let (waiting, continuation) = AsyncStream.makeStream(of: Void.self)
            let options = Self.options().with(\.sleep) {
                continuation.finish()
                try await FetchOptions().sleep($0)
            }
            let url = server.url("/feed")
            let fetch = Task { try await FeedSource(url).contents(options) }
            for await _ in waiting {}
            fetch.cancel()
            let error = await failure { _ = try await fetch.value }
            #expect(error is CancellationError)
        }
    }

    @Test func cancellationEndsTheWaitForAnAnswer() async throws {
        try await TestFeedServer.run(script: [.silent]) { server in
            let url = server.url("/feed")
            let fetch = Task { try await FeedSource(url).contents() }
            try await waitUntil { !server.requests.isEmpty }
            fetch.cancel()
            let error = await failure { _ = try await fetch.value }
            #expect(error is CancellationError)
            #expect(server.requests.count == 1)
        }
    }

    @Test(arguments: [
        TestFeedServer.Answer.cutOff(feed, promised: feed.count + 1), .cutOffChunked(feed),
        .cutOff(compressed, promised: compressed.count + 1), .reset(feed, promised: feed.count + 1),
    ])
    func nothingIsRetriedAfterBytesWerePassedOn(answer: TestFeedServer.Answer) async throws {
        try await TestFeedServer.run(script: [answer, .whole(.ok, Self.feed)]) { server in
            var read: [UInt8] = []
            let error = await failure {
                try await FeedSource(server.url("/feed")).read(options: Self.options()) { read += $0 }
            }
            // The client may notice the reset before it has read the bytes that came first. Another attempt is then harmless.
            if case .reset = answer, error == nil {
                #expect(server.requests.count == 2)
                return
            }
            #expect(
                error as? FeedError
                    == .unavailable(
                        url: server.url("/feed"), reason: "the connection ended before the feed did"))
            #expect(server.requests.count == 1)
            #expect(Self.feed.starts(with: read))
        }
    }

    /// The bytes handed over are always a prefix of the feed, and the whole feed if no error is thrown. Every error has a
    /// description.
    @Test func randomFailuresEndInTheFeedOrAClearError() async throws {
        let half = Array(Self.feed.prefix(Self.feed.count / 2))
        var damaged = Self.compressed
        damaged[damaged.count - 6] ^= 1
        let final: [TestFeedServer.Answer] = [
            Self.cutOff(half), .cutOffChunked(half), .stalled(half, promised: Self.feed.count),
            .reset(half, promised: Self.feed.count), .whole(.ok, damaged),
            Self.cutOff(Array(Self.compressed.dropLast(20))), .whole(.notFound, []), .whole(.forbidden, []),
            .whole(.found, [], headers: ["location": "/feed"]), .raw("HTP/1.1 200 OK\r\n\r\n"),
            .whole(.ok, Self.feed, headers: ["content-encoding": "br"]),
        ]
        let good: [TestFeedServer.Answer] = [.whole(.ok, Self.feed), .whole(.ok, Self.compressed)]
        var random = seededRandom()
        for _ in 0..<60 {
            let script = (0..<5).map { _ in
                switch random.below(10) {
                case 0..<6: Self.passing[random.below(Self.passing.count)]
                case 6..<8: final[random.below(final.count)]
                default: good[random.below(good.count)]
                }
            }
            try await TestFeedServer.run(script: script) { server in
                var read: [UInt8] = []
                let error = await failure {
                    try await FeedSource(server.url("/feed")).read(options: Self.impatient()) { read += $0 }
                }
                #expect(server.requests.count <= 4)
                guard let error else {
                    #expect(read == Self.feed, "\(script)")
                    return
                }
                #expect(Self.feed.starts(with: read), "\(script)")
                #expect(error is FeedError)
                let text = "\(error)"
                #expect(text.contains(server.url("/feed")) || text.contains("gzip"), "\(script): \(text)")
                #expect(!text.contains("curl") && !text.contains("error:"), "\(script): \(text)")
            }
        }
    }
}
