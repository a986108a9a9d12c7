import Synchronization
import TestSupport
import Testing

@testable import Feed

@Suite struct TimeoutTests {
    /// Larger than the buffers of the client and of the sockets.
    private static let feed = [UInt8](repeating: UInt8(ascii: " "), count: 32 << 20)
    private static let options = FetchOptions.withoutWaiting().with(\.attempts, 1)

    @Test func aBodyThatStallsEndsTheFetch() async throws {
        let begin = Array(Self.feed.prefix(1000))
        try await TestFeedServer.run(script: [.stalled(begin, promised: 2000)]) { server in
            var read = 0
            let error = await failure {
                try await FeedSource(server.url("/feed")).read(
                    options: Self.options.with(\.readTimeout, .milliseconds(250))
                ) { read += $0.count }
            }
            #expect(read == 1000)
            #expect(
                error as? FeedError
                    == .unavailable(url: server.url("/feed"), reason: "no bytes arrived for 0.25 seconds"))
        }
    }

    /// A reader may wait for its database for any length of time. This reader takes an hour for each chunk, by a clock that only
    /// the reader moves.
    @Test func theReadersOwnTimeDoesNotCountTowardsTheReadTimeout() async throws {
        let clock = Mutex(ContinuousClock.now)
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            var read = 0
            try await FeedSource(server.url("/feed")).read(
                options: Self.options.with(\.now, { clock.withLock { $0 } })
            ) { chunk in
                clock.withLock { $0 += .seconds(3600) }
                read += chunk.count
            }
            #expect(read == Self.feed.count)
        }
    }

    @Test func aServerThatNeverAnswersTimesOut() async throws {
        try await TestFeedServer.run(script: [.silent]) { server in
            let error = await failure {
                _ = try await FeedSource(server.url("/feed")).contents(
                    Self.options.with(\.headTimeout, .milliseconds(500)))
            }
            #expect(
                error as? FeedError
                    == .unavailable(url: server.url("/feed"), reason: "no answer within 0.5 seconds"))
        }
    }

    /// If a listening socket accepts no connections, the kernel drops those for which its queue has no room.
    @Test func aConnectionThatIsNeverMadeTimesOut() async throws {
        let listener = try LoopbackSocket.bound(queue: 0)
        let queue = (0..<4).map { _ in LoopbackSocket(nonBlocking: true) }
        defer { for socket in queue + [listener] { socket.close() } }
        for socket in queue { socket.connect(to: listener.port) }
        let url = "http://127.0.0.1:\(listener.port)/feed"
        // With the default connect timeout of 10 s, the head timeout would expire first.
        let error = await failure {
            _ = try await FeedSource(url).contents(
                Self.options.with(\.connectTimeout, .milliseconds(500)).with(\.headTimeout, .seconds(5)))
        }
        #expect(error as? FeedError == .unavailable(url: url, reason: "no connection within 0.5 seconds"))
    }

    /// A client can connect to a socket that listens but never accepts. The client gets no response to its TLS handshake or its
    /// CONNECT request.
    @Test func aHandshakeThatNeverEndsTimesOut() async throws {
        let listener = try LoopbackSocket.bound()
        defer { listener.close() }
        let options = Self.options.with(\.connectTimeout, .milliseconds(300))
        let direct = await failure {
            _ = try await FeedSource("https://127.0.0.1:\(listener.port)/").contents(options)
        }
        #expect(direct.map { "\($0)" }?.hasSuffix("/: no connection within 0.3 seconds") == true)
        let proxy = ProxySettings(environment: ["https_proxy": "127.0.0.1:\(listener.port)"])
        let tunnelled = await failure {
            _ = try await FeedSource("https://feed.example/").contents(options.with(\.proxies, proxy))
        }
        #expect(
            tunnelled.map { "\($0)" }
                == "cannot fetch https://feed.example/: proxy 127.0.0.1:\(listener.port): "
                + "no connection within 0.3 seconds")
    }

    @Test func cancellationEndsAHandshake() async throws {
        let listener = try LoopbackSocket.bound()
        defer { listener.close() }
        for url in ["http", "https"].map({ "\($0)://127.0.0.1:\(listener.port)/" }) {
            let fetch = Task {
                try await FeedSource(url).contents(Self.options.with(\.connectTimeout, .seconds(600)))
            }
            // Cancel the fetch while it waits for the server.
            try await Task.sleep(for: .milliseconds(100))
            fetch.cancel()
            let error = await failure { _ = try await fetch.value }
            #expect(error is CancellationError)
        }
    }

    /// Even if the server has already sent more, the reader gets pieces of at most 2 MiB.
    @Test func aSlowReaderIsNotFlooded() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(in: folder)
            for tls in [nil, certificates.server] {
                try await TestFeedServer.run(tls: tls) { _ in
                    .whole(.ok, Self.feed)
                } _: { server in
                    var (read, largest) = (0, 0)
                    try await FeedSource(server.url("/feed")).read(
                        options: Self.options.with(\.authorities, certificates.authority)
                    ) { chunk in
                        if read == 0 { try await Task.sleep(for: .milliseconds(300)) }
                        read += chunk.count
                        largest = max(largest, chunk.count)
                    }
                    #expect(read == Self.feed.count)
                    #expect(largest <= 2 << 20)
                }
            }
        }
    }
}
