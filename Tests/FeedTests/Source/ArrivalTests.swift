import Foundation
import SampleFeed
import Synchronization
import TestSupport
import Testing

@testable import Feed

/// Tests the reported progress: the number of bytes that were read, and their total.
@Suite("Progress of a read")
struct ArrivalTests {
    private static let feed = bytes(of: SampleFeed(count: 2000))

    @Test("For a compressed file, the compressed bytes are counted, up to the file's size")
    func file() async throws {
        let compressed = gzip(Self.feed)
        let path = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID()).gz").path
        try Data(compressed).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }

        let arrivals = try await arrivals(of: .file(path))

        #expect(arrivals.last == Arrival(bytes: compressed.count, length: compressed.count))
        #expect(compressed.count < Self.feed.count)
    }

    @Test("Over HTTP, the length is the Content-Length")
    func http() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            let arrivals = try await arrivals(of: .url(server.url("/feed")))

            #expect(arrivals.last == Arrival(bytes: Self.feed.count, length: Self.feed.count))
            #expect(zip(arrivals, arrivals.dropFirst()).allSatisfy { $0.bytes < $1.bytes })
        }
    }

    @Test("The length of a chunked body is unknown")
    func chunked() async throws {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await TestFeedServer.run(script: [.raw("\(head)3\r\nabc\r\n0\r\n\r\n")]) { server in
            let arrivals = try await arrivals(of: .url(server.url("/feed")))

            #expect(arrivals == [Arrival(bytes: 3, length: nil)])
        }
    }

    private func arrivals(of source: FeedSource) async throws -> [Arrival] {
        let all = Mutex<[Arrival]>([])
        var options = FetchOptions()
        options.arrived = { arrival in all.withLock { $0.append(arrival) } }
        try await source.read(options: options) { _ in }
        return all.withLock { $0 }
    }
}
