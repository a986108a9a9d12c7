import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import Feed

@Suite struct HTTPTests {
    private static let feed = bytes(of: SampleFeed(count: 2000))

    @Test func aFeedIsReadPlainOrCompressed() async throws {
        let compressed = gzip(Self.feed)
        try await TestFeedServer.run { request in
            // Some servers name the encoding, some only name the type, and some name neither.
            switch request.uri {
            case "/plain": .whole(.ok, Self.feed)
            case "/encoded": .whole(.ok, compressed, headers: ["content-encoding": "gzip"])
            default: .whole(.ok, compressed)
            }
        } _: { server in
            for path in ["/plain", "/encoded", "/file.gz"] {
                var read: [UInt8] = []
                try await FeedSource(server.url(path)).read(options: .withoutWaiting()) { read += $0 }
                #expect(read == Self.feed)
            }
        }
    }

    @Test(arguments: [
        TestStatus.noContent, .partialContent, .multipleChoices, .notModified, .useProxy, .badRequest,
        .unauthorized, .forbidden, .unprocessableEntity, .notImplemented,
    ])
    func anyOtherStatusIsAnErrorThatNamesTheStatus(status: TestStatus) async throws {
        try await TestFeedServer.run(script: [.whole(status, [])]) { server in
            let url = server.url("/feed")
            let error = await failure { _ = try await FeedSource(url).contents() }
            #expect(
                error as? FeedError
                    == .unavailable(url: url, reason: "HTTP status \(status)", status: status.code))
            #expect(server.requests.count == 1, "the request is not repeated")
        }
    }

    @Test(arguments: [TestStatus.notFound, .gone])
    func aMissingFeedIsReportedAsNoInput(status: TestStatus) async throws {
        try await TestFeedServer.run(script: [.whole(status, [])]) { server in
            let url = server.url("/feed")
            let error = await failure { _ = try await FeedSource(url).contents() }
            #expect(error as? FeedError == .noInput(path: url, reason: "HTTP status \(status)"))
            #expect(server.requests.count == 1, "the request is not repeated")
        }
    }

    @Test func aQueryIsSentButNeverShown() async throws {
        try await TestFeedServer.run(script: [.whole(.forbidden, [])]) { server in
            let url = server.url("/feed?key=hunter2&x=1")
            let error = await failure { _ = try await FeedSource(url).contents() }
            #expect(
                error.map { "\($0)" } == "cannot fetch \(server.url("/feed?…")): HTTP status 403 Forbidden")
            #expect(server.requests.first?.uri == "/feed?key=hunter2&x=1")
        }
    }

    @Test func theUserAgentNamesTheProjectAndItsVersion() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            _ = try await FeedSource(server.url("/")).contents(
                .withoutWaiting().with(\.version, "1.2.3"))
            #expect(
                server.requests.first?.headers["user-agent"]
                    == ["quakes/1.2.3 (+https://example.org/quakes)"])
        }
    }

    @Test(arguments: ["br", "deflate", "gzip, br", "gzip, gzip", "zstd"])
    func anUnknownContentEncodingIsRefused(encoding: String) async throws {
        try await TestFeedServer.run(
            script: [.whole(.ok, Self.feed, headers: ["content-encoding": encoding])]
        ) { server in
            let error = await failure { _ = try await FeedSource(server.url("/feed")).contents() }
            #expect(
                error as? FeedError
                    == .unavailable(
                        url: server.url("/feed"),
                        reason: "its content encoding is \(encoding), but only gzip was requested")
            )
        }
    }

    @Test(arguments: ["gzip", "X-GZIP", "identity", ""])
    func aKnownContentEncodingIsAccepted(encoding: String) async throws {
        let body = gzip(Self.feed)
        try await TestFeedServer.run(
            script: [.whole(.ok, body, headers: ["content-encoding": encoding])]
        ) { server in
            let contents = try await FeedSource(server.url("/feed")).contents()
            #expect(contents == Self.feed)
        }
    }

    @Test func inflatingEndsAtTheLimit() async throws {
        let body = gzip(Self.feed)
        try await TestFeedServer.run(script: [.whole(.ok, body)]) { server in
            let options = FetchOptions.withoutWaiting().with(\.inflatedLimit, Self.feed.count - 1)
            let error = await failure { _ = try await FeedSource(server.url("/feed")).contents(options) }
            guard case .brokenCompression(let reason, _) = error as? FeedError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(reason == "it inflates to more than \(Self.feed.count - 1) bytes")
            #expect(server.requests.count == 1, "the request is not repeated")
            let exact = FetchOptions.withoutWaiting().with(\.inflatedLimit, Self.feed.count)
            let contents = try await FeedSource(server.url("/feed")).contents(exact)
            #expect(contents == Self.feed)
        }
    }

    /// A feed is requested at most once a minute, so keeping a connection open for that long is useless.
    @Test func aRequestAsksTheServerToCloseTheConnection() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            _ = try await FeedSource(server.url("/feed")).contents()
            #expect(server.requests.first?.headers["connection"] == ["close"])
        }
    }

    /// The connection is closed after a fetch, even if the fetch fails.
    @Test func noConnectionIsLeftOpen() async throws {
        let answers: [TestFeedServer.Answer] = [
            .whole(.ok, Self.feed), .whole(.notFound, Self.feed),
            .whole(.found, [], headers: ["location": "/"]),
            .stalled(Self.feed, promised: Self.feed.count + 1), .silent,
            .cutOff(Self.feed, promised: Self.feed.count + 1), .whole(.internalServerError, Self.feed),
            .raw("HTP/1.1 200 OK\r\n\r\n"), .resetAtOnce,
        ]
        for answer in answers {
            try await TestFeedServer.run(script: [answer]) { server in
                let options = FetchOptions.withoutWaiting().with(\.readTimeout, .milliseconds(50))
                    .with(\.headTimeout, .milliseconds(500))
                for _ in 0..<3 {
                    _ = await failure { _ = try await FeedSource(server.url("/feed")).contents(options) }
                }
                // An abandoned connection may not have been accepted yet. Once a later connection is accepted, all earlier ones
                // have been accepted too.
                let last = LoopbackSocket()
                last.connect(to: server.port)
                Array("GET /last HTTP/1.1\r\n\r\n".utf8).withUnsafeBytes { _ = last.write($0) }
                try await waitUntil { server.requests.contains { $0.uri == "/last" } }
                last.close()
                try await waitUntil { server.openConnections == 0 }
            }
        }
    }

    @Test(arguments: ["http://", "http:///feed", "http://host:port/feed", "https://a b/"])
    func anInvalidURLIsAnError(url: String) async throws {
        let error = await failure { _ = try await FeedSource(url).contents() }
        #expect(error as? FeedError == .unavailable(url: url, reason: "not a valid URL"))
    }

    @Test func credentialsOfTheURLAreSentButNeverShown() async throws {
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
                    == .unavailable(
                        url: server.url("/feed"), reason: "HTTP status 401 Unauthorized", status: 401))
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
            let error = await failure { _ = try await download.value }
            #expect(error is CancellationError)
        }
    }

    @Test func anErrorOfTheReaderEndsTheDownload() async throws {
        struct Full: Error {}
        try await TestFeedServer.run { _ in
            .whole(.ok, Self.feed)
        } _: { server in
            let error = await failure { try await FeedSource(server.url("/feed")).read { _ in throw Full() } }
            #expect(error is Full)
            #expect(server.requests.count == 1)
        }
    }
}
