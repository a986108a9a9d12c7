import NIOHTTP1
import Synchronization
import Testing

@testable import Feed

@Suite(.timeLimit(.minutes(1))) struct HTTPTests {
    private static let feed = bytes(of: SampleFeed(count: 2000))

    @Test func aFeedIsReadPlainOrCompressed() async throws {
        let compressed = gzip(Self.feed)
        try await TestFeedServer.run { request in
            // Some servers name the encoding, some only the type, some nothing.
            switch request.uri {
            case "/plain": .whole(.ok, Self.feed)
            case "/encoded": .whole(.ok, compressed, headers: ["content-encoding": "gzip"])
            default: .whole(.ok, compressed)
            }
        } _: { server in
            for path in ["/plain", "/encoded", "/file.gz"] {
                var read: [UInt8] = []
                try await FeedSource(server.url(path)).read { read += $0 }
                #expect(read == Self.feed)
            }
        }
    }

    @Test(arguments: [
        (HTTPResponseStatus.notFound, true), (.gone, true), (.internalServerError, false),
        (.serviceUnavailable, false), (.unauthorized, false), (.tooManyRequests, false), (.noContent, false),
    ])
    func anotherStatusIsAnErrorThatNamesIt(status: HTTPResponseStatus, isNoInput: Bool) async throws {
        try await TestFeedServer.run { _ in
            .whole(status, Array("{}".utf8))
        } _: { server in
            let url = server.url("/feed")
            let error = await failure { _ = try await FeedSource(url).contents() }
            let reason = "HTTP status \(status)"
            #expect(
                error as? FeedError
                    == (isNoInput
                        ? .noInput(path: url, reason: reason) : .unavailable(url: url, reason: reason)))
        }
    }

    @Test func redirectsAreFollowedButNotInCircles() async throws {
        try await TestFeedServer.run { request in
            switch request.uri {
            case "/old": .whole(.movedPermanently, [], headers: ["location": "/new"])
            case "/circle": .whole(.found, [], headers: ["location": "/circle"])
            default: .whole(.ok, Self.feed)
            }
        } _: { server in
            let contents = try await FeedSource(server.url("/old")).contents()
            #expect(contents == Self.feed)
            let error = await failure { _ = try await FeedSource(server.url("/circle")).contents() }
            guard case .unavailable(server.url("/circle"), let reason) = error as? FeedError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason == "it redirects in a circle")
        }
    }

    @Test func aBodyThatIsCutOffIsAnError() async throws {
        try await TestFeedServer.run { _ in
            .cutOff(Self.feed, promised: Self.feed.count + 1)
        } _: { server in
            let url = server.url("/feed")
            let error = await failure { _ = try await FeedSource(url).contents() }
            #expect(
                error as? FeedError
                    == .unavailable(url: url, reason: "the connection ended before the feed did"))
        }
    }

    @Test func aRefusedConnectionIsSaidAtOnce() async throws {
        let port = try await TestFeedServer.run { _ in
            .whole(.ok, [])
        } _: {
            $0.port
        }
        let url = "http://127.0.0.1:\(port)/feed"
        let clock = ContinuousClock()
        let start = clock.now
        let error = await failure { _ = try await FeedSource(url).contents() }
        #expect(error as? FeedError == .unavailable(url: url, reason: "Connection refused"))
        #expect(clock.now - start < .seconds(9), "the limit is 10 s")
    }

    @Test(arguments: ["http://", "http:///feed", "http://host:port/feed", "https://a b/"])
    func aURLThatIsNoneIsAnError(url: String) async throws {
        let error = await failure { _ = try await FeedSource(url).contents() }
        #expect(error as? FeedError == .unavailable(url: url, reason: "not a valid URL"))
    }

    @Test func credentialsOfTheURLAreSentAndNeverShown() async throws {
        try await TestFeedServer.run { request in
            // RFC 7617: "user:pa:ss" in base 64.
            request.headers["authorization"] == ["Basic dXNlcjpwYTpzcw=="]
                ? .whole(.ok, Self.feed) : .whole(.unauthorized, [])
        } _: { server in
            let contents = try await FeedSource("http://user:pa%3Ass@127.0.0.1:\(server.port)/feed")
                .contents()
            #expect(contents == Self.feed)
            let wrong = FeedSource("http://user:hunter2@127.0.0.1:\(server.port)/feed")
            let error = await failure { _ = try await wrong.contents() }
            #expect(
                error as? FeedError
                    == .unavailable(url: server.url("/feed"), reason: "HTTP status 401 Unauthorized"))
        }
        for url in [
            "http://user:hunter2@127.0.0.1:1/feed", "http://user:hunter2@nowhere.invalid/",
            "http://user:hunter2@/x", "http://user:hun/ter2@host/",
        ] {
            let error = await failure { _ = try await FeedSource(url).contents() }
            let text = error.map { "\($0)" } ?? ""
            #expect(!text.isEmpty && !text.contains("hun"))
        }
    }

    @Test func cancellationEndsASilentDownloadPromptly() async throws {
        try await TestFeedServer.run { _ in
            .stalled(Self.feed, promised: Self.feed.count + 1)
        } _: { server in
            let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
            let received = Mutex(0)
            let url = server.url("/feed")
            let download = Task {
                try await FeedSource(url).read { chunk in
                    let count = received.withLock { count in
                        count += chunk.count
                        return count
                    }
                    if count == Self.feed.count { continuation.finish() }
                }
            }
            for await _ in begun {}
            download.cancel()
            let error = await failure { try await download.value }
            #expect(error is CancellationError)
        }
    }

    @Test func whatTheReaderThrowsEndsTheDownload() async throws {
        struct Full: Error {}
        try await TestFeedServer.run { _ in
            .whole(.ok, Self.feed)
        } _: { server in
            let error = await failure { try await FeedSource(server.url("/feed")).read { _ in throw Full() } }
            #expect(error is Full)
        }
    }
}
