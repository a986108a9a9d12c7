import Glibc
import TestSupport
import Testing

@testable import Feed

@Suite(.endsHanging) struct TimeoutTests {
    /// More than what the client and the sockets between would buffer.
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
                    == .unavailable(url: server.url("/feed"), reason: "nothing came for 0.25 seconds"))
        }
    }

    /// The reader may wait for its database as long as it likes.
    @Test func theReadersOwnTimeIsNotTheServersSilence() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            var read = 0
            try await FeedSource(server.url("/feed")).read(
                options: Self.options.with(\.readTimeout, .milliseconds(300))
            ) { chunk in
                if read == 0 { try await Task.sleep(for: .seconds(1)) }
                read += chunk.count
            }
            #expect(read == Self.feed.count)
        }
    }

    @Test func aServerThatNeverAnswersIsGivenUp() async throws {
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

    /// A socket that listens and never accepts drops what does not fit its queue.
    @Test func aConnectionThatIsNeverMadeIsGivenUp() async throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let queue = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK, 0) }
        defer { for descriptor in queue + [listener] { close(descriptor) } }
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                #expect(bind(listener, address, size) == 0)
                #expect(listen(listener, 0) == 0)
                getsockname(listener, address, &size)
                for descriptor in queue { _ = connect(descriptor, address, size) }
            }
        }
        let url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/feed"
        // With the client's own limit it would be the head that is late.
        let error = await failure {
            _ = try await FeedSource(url).contents(
                Self.options.with(\.connectTimeout, .milliseconds(500)).with(\.headTimeout, .seconds(5)))
        }
        #expect(error as? FeedError == .unavailable(url: url, reason: "no connection within 0.5 seconds"))
    }
}
