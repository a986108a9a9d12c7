import CZlib
import Foundation
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Answers that were given before")
struct CachingTests {
    @Test("An unchanged catalogue is 304, and a changed one a new answer with a higher token")
    func conditional() async throws {
        try await TestServer.shared.withDatabase { database in
            let feed = DayFeed.of(5)
            try await database.importDocument(feed.document)
            try await TestSite.run(of: database) { site in
                let first = try await site.get(dayPath)
                let tag = try #require(first.headers["etag"])
                // The server may hear of the state a moment after it has answered from it.
                try await waitUntil {
                    try await site.get(dayPath, ["If-None-Match": "\"x\", \(tag)"]).status == 304
                }
                let unchanged = try await site.get(dayPath, ["If-None-Match": tag])
                #expect(unchanged.body.isEmpty && unchanged.headers["etag"] == tag)
                #expect(unchanged.token == first.token)

                var more = feed
                more.add("more")
                more.generated += 1
                try await database.importDocument(more.document)
                try await waitUntil { try await site.get(dayPath, ["If-None-Match": tag]).status == 200 }
                let second = try await site.get(dayPath)
                let tokens = [try #require(first.token), try #require(second.token)]
                #expect(tokens[0] < tokens[1])
                #expect(second.headers["etag"] != tag)
                #expect(second.text.contains("usmore"))
            }
        }
    }

    @Test("A 304 takes no session of the database")
    func withoutQuery() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                let tag = try #require(try await site.get(dayPath).headers["etag"])
                try await waitUntil { try await site.get(dayPath, ["If-None-Match": tag]).status == 304 }
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        #expect(try await site.get(dayPath, ["If-None-Match": tag]).status == 304)
                    }
                }
            }
        }
    }

    @Test("A short answer is given again without a query, until the catalogue changes")
    func recent() async throws {
        let path = "/fdsnws/event/1/query?format=csv&limit=20"
        try await TestServer.shared.withDatabase { database in
            let known = DayFeed.of(5)
            try await database.importDocument(known.document)
            try await TestSite.run(of: database) { site in
                let first = try await site.get(path)
                try await database.withConnection { connection in
                    try await connection.transaction(to: "lock the table") {
                        try await connection.execute(
                            "lock table quake in access exclusive mode", to: "lock the table")
                        let again = try await site.get(path)
                        #expect(again.status == 200 && again.body == first.body)
                        #expect(again.headers["etag"] == first.headers["etag"])
                    }
                }
            }
            // Each new state is seen at once.
            try await TestSite.run(of: database) { site in
                var feed = known
                for code in ["one", "two", "three"] {
                    #expect(try await !site.get(path).text.contains("us\(code)"))
                    feed.add(code)
                    feed.generated += 1
                    try await database.importDocument(feed.document)
                    #expect(try await site.get(path).text.contains("us\(code)"))
                }
            }
        }
    }

    @Test("A state that many ask for at once is never older than the question")
    func sharedReading() async throws {
        final class Count: Sendable {
            let value = Atomic(0)
        }
        let newest = Count()
        let reading = SharedReading {
            let value = newest.value.load(ordering: .sequentiallyConsistent)
            for _ in 0..<3 { await Task.yield() }
            return value
        }
        await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask {
                    let before = newest.value.add(1, ordering: .sequentiallyConsistent).newValue
                    await Task.yield()
                    #expect((try? await reading.result().get()) ?? 0 >= before)
                }
            }
        }
    }

    @Test("A compressed answer is the same answer, with a tag of its own")
    func compressed() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(2000).document)
            try await TestSite.run(of: database) { site in
                let plain = try await site.get(dayPath, ["Accept-Encoding": "br, gzip;q=0"])
                let zipped = try await site.get(dayPath, ["Accept-Encoding": "gzip;q=0.5, deflate"])
                #expect(plain.headers["content-encoding"] == nil)
                #expect(zipped.headers["content-encoding"] == "gzip")
                #expect(zipped.headers["etag"] != plain.headers["etag"])
                #expect(zipped.headers["vary"] == "Accept-Encoding")
                #expect(try inflated(zipped.body) == plain.body)
                #expect(zipped.body.count * 5 < plain.body.count)
            }
        }
    }

    @Test("HEAD says what GET would, without the body", arguments: ["gzip", "identity"])
    func head(encoding: String) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(1000).document)
            try await TestSite.run(of: database) { site in
                let get = try await site.get(dayPath, ["Accept-Encoding": encoding])
                let head = try await site.get(dayPath, method: "HEAD", ["Accept-Encoding": encoding])
                #expect(head.status == 200)
                #expect(head.headers["content-length"] == "\(get.body.count)")
                #expect(head.headers["etag"] == get.headers["etag"])
                #expect(try await site.get("/none", method: "HEAD").status == 404)
            }
        }
    }

    private func inflated(_ bytes: [UInt8]) throws -> [UInt8] {
        var stream = z_stream()
        inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        defer { inflateEnd(&stream) }
        var input = bytes
        return [UInt8](unsafeUninitializedCapacity: 64 << 20) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                #expect(inflate(&stream, Z_FINISH) == Z_STREAM_END)
            }
            count = Int(stream.total_out)
        }
    }
}
