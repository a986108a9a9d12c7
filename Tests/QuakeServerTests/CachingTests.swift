import CZlib
import Foundation
import NIOCore
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Caching of answers")
struct CachingTests {
    @Test("An unchanged catalogue gives a 304, and a changed one a new answer with a higher token")
    func conditional() async throws {
        try await TestServer.shared.withDatabase { database in
            let feed = DayFeed.of(5)
            try await database.importDocument(feed.document)
            try await TestSite.run(of: database) { site in
                let first = try await site.get(dayPath)
                let tag = try #require(first.headers["etag"])
                // The server sends a 304 for an answer only once it was notified of the answer's state. This may be a moment
                // after the answer.
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

    @Test("An answer that depends on the largest number of events has another tag under another limit")
    func otherLimit() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            let path = "/fdsnws/event/1/count?format=geojson"
            let tag = try await TestSite.run(of: database, settings) { site in
                try #require(try await site.get(path).headers["etag"])
            }
            settings.maxEvents = 2
            try await TestSite.run(of: database, settings) { site in
                let answer = try await site.get(path, ["If-None-Match": tag])
                #expect(answer.status == 200 && answer.text.contains("\"maxAllowed\":2"))
            }
        }
    }

    @Test(
        "An answer as of a position is cacheable for an hour, or a year if cited; one as of a bare token is revalidated"
    )
    func immutablePast() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                let path = "/fdsnws/event/1/query?format=csv&asof="
                let position = try #require(
                    try await site.get("/fdsnws/event/1/count").headers["quakes-position"])
                let before = try await site.get(path + position)
                #expect(before.status == 200)
                #expect(before.headers["cache-control"] == "public, max-age=3600")
                let token = try #require(before.token)
                try await database.query(
                    "insert into history.citation (name, token, reason) values ('later', \(token + 1), '')")
                #expect(
                    try await site.get(path + position + "&limit=9").headers["cache-control"]
                        == "public, max-age=3600")
                try await database.query(
                    "insert into history.citation (name, token, reason) values ('paper', \(token), '')")
                try await waitUntil {
                    try await site.get(path + position).headers["cache-control"]
                        == "public, max-age=31536000, immutable"
                }
                let tag = try #require(before.headers["etag"])
                try await database.query("update quake set magnitude = 9 where code = 'usc1'")
                let after = try await site.get(path + position)
                #expect(after.text == before.text && after.headers["etag"] == tag)
                // A reader that continues from the position gets the change.
                #expect(after.headers["quakes-position"] == position && after.token == token)
                #expect(try await site.get("\(path)\(token)").headers["quakes-position"] == nil)
                #expect(try await site.get(path + position, ["If-None-Match": tag]).status == 304)
                for form in [
                    path + "1", path + position + "&eventid=usc1", path + position + "&includedeleted=true",
                ] {
                    let checked = try await site.get(form)
                    #expect(checked.status == 200)
                    #expect(checked.headers["cache-control"] == "public, max-age=0", "\(form)")
                }
                // After a restore, another transaction can have this token. The request has a new limit, because a repeated
                // request would get a cached answer.
                try await database.query(
                    "update history.transaction set nonce = '00000000' where token = 1"
                )
                let restored = try await site.get(path + position + "&limit=2")
                #expect(restored.status == 410)
                let reason = "asof: the position is from another database, or a restore has undone it"
                #expect(restored.text.contains(reason))
                #expect(try await site.get(path + position.replacing("1_", with: "7_")).status == 400)
            }
        }
    }

    /// A shared cache finds an answer by its path alone, so it would give URLs with one client's host to all clients.
    @Test("An answer whose URLs have the host that the client named is private to that client")
    func host() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            let withURLs = [
                "/fdsnws/event/1/query?format=geojson", "/fdsnws/event/1/query?format=kml",
                "/earthquakes/feed/v1.0/summary/all/all_day.geojson",
                "/earthquakes/feed/v1.0/summary/all/all_day.atom",
                "/earthquakes/feed/v1.0/summary/all/all_day_age.kml",
            ]
            let without = [
                "/fdsnws/event/1/query?format=csv", "/fdsnws/event/1/query?format=text",
                "/fdsnws/event/1/query?format=xml", "/earthquakes/feed/v1.0/summary/all/all_day.csv",
                "/earthquakes/feed/v1.0/summary/all/all_day.quakeml",
                "/earthquakes/feed/v1.0/detail/usc1.geojson",
                "/coverage", "/", "/page/main.js", "/fdsnws/event/1/application.wadl",
            ]
            for base in [nil, "https://example.org"] {
                var settings = ServerSettings.patient
                settings.baseURL = base
                try await TestSite.run(of: database, settings) { site in
                    for path in withURLs + without {
                        let request =
                            "GET \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                        let answer = try TestAnswer(await site.send(Array(request.utf8)))
                        #expect(answer.status == 200, "\(path)")
                        let namesHost = answer.text.contains("evil.example")
                        #expect(namesHost == (base == nil && withURLs.contains(path)), "\(path)")
                        let isPrivate = answer.headers["cache-control"]?.hasPrefix("private") == true
                        #expect(isPrivate == (base == nil && withURLs.contains(path)), "\(path)")
                    }
                }
            }
        }
    }

    @Test("A 304 does not read the table, so it is sent while the table is locked")
    func withoutQuery() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = ServerSettings.patient
            settings.stateAge = .seconds(3600)
            try await TestSite.run(of: database, settings) { site in
                // Until a notification arrives, the server asks the database for its state.
                try await waitUntil { try await site.get("/health").status == 200 }
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

    /// test       refuses connections, ends the watching session, changes a row             asks until it gets the change
    /// server                                                                  cannot watch
    @Test(
        "Without a watching session, the server still notices changes, and sends 304 only for unchanged answers"
    )
    func unwatched() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = ServerSettings.patient
            settings.stateAge = .milliseconds(100)
            try await TestSite.run(of: database, settings) { site in
                let paths = [dayPath, "/fdsnws/event/1/query?format=csv"]
                let tags = [
                    try #require(try await site.get(paths[0]).headers["etag"]),
                    try #require(try await site.get(paths[1]).headers["etag"]),
                ]
                try await database.withConnection { connection in
                    let name: String = try await connection.query(
                        "select current_database() as name", to: "read the name")[0].decode("name")
                    try await TestServer.shared.withDatabase { other in
                        try await other.execute("alter database \(name) allow_connections false")
                    }
                    try await connection.query(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity
                        where datname = current_database() and query ilike '%listen%' and pid <> pg_backend_pid()
                        """, to: "end the watch")
                    try await connection.query("update quake set magnitude = 9", to: "change")
                    for (path, tag) in zip(paths, tags) {
                        try await waitUntil {
                            try await site.get(path, ["If-None-Match": tag]).status == 200
                        }
                        // An unchanged answer is 304 even without a watching session.
                        let newer = try #require(try await site.get(path).headers["etag"])
                        #expect(newer != tag)
                        #expect(try await site.get(path, ["If-None-Match": newer]).status == 304)
                    }
                }
            }
        }
    }

    @Test("If-None-Match never turns an error, such as the 410 for a pruned past, into a 304")
    func pruned() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await database.query("update quake set magnitude = 9")
            try await TestSite.run(of: database) { site in
                let past = "/fdsnws/event/1/query?format=csv&asof=1"
                let first = try await site.get(past)
                let tag = try #require(first.headers["etag"])
                #expect(first.status == 200)
                try await waitUntil { try await site.get(past, ["If-None-Match": tag]).status == 304 }
                #expect(try await site.get(past, ["If-None-Match": "*"]).status == 304)
                try await database.query("select history.prune('0')")
                // The server notices the pruning when it next reads the state.
                try await waitUntil { try await site.get(past, ["If-None-Match": tag]).status == 410 }
                #expect(try await site.get(past).status == 410)
                for path in [past, "/fdsnws/event/1/query?eventid=none&format=text&nodata=404", "/none"] {
                    let plain = try await site.get(path)
                    let conditional = try await site.get(path, ["If-None-Match": "*"])
                    #expect(conditional.status == plain.status && plain.status >= 400, "\(path)")
                }
                #expect(try await site.get("/", ["If-None-Match": "*"]).status == 304)
            }
        }
    }

    @Test("An answer without events also has a tag")
    func nothing() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                let path = "/fdsnws/event/1/query?minmagnitude=9.9"
                let none = try await site.get(path)
                #expect(none.status == 204 && none.token == 1)
                let tag = try #require(none.headers["etag"])
                try await waitUntil { try await site.get(path, ["If-None-Match": tag]).status == 304 }
                try await database.query("update quake set magnitude = 9.95 where code = 'usc1'")
                try await waitUntil { try await site.get(path, ["If-None-Match": tag]).status == 200 }
            }
        }
    }

    @Test("A short answer is repeated without a query until the catalogue changes")
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
            // Each new state is seen immediately.
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

    @Test("A state that concurrent requests share is never older than any of the requests")
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

    @Test("A compressed answer has the same content and its own tag")
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

    @Test("HEAD has the content length and the tag of GET")
    func head() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(1000).document)
            try await TestSite.run(of: database) { site in
                try await forEachCase(of: ["gzip", "identity"]) { encoding in
                    let get = try await site.get(dayPath, ["Accept-Encoding": encoding])
                    let head = try await site.get(dayPath, method: "HEAD", ["Accept-Encoding": encoding])
                    #expect(head.status == 200, "\(encoding)")
                    #expect(head.headers["content-length"] == "\(get.body.count)", "\(encoding)")
                    #expect(head.headers["etag"] == get.headers["etag"], "\(encoding)")
                }
                #expect(try await site.get("/none", method: "HEAD").status == 404)
            }
        }
    }

    @Test(
        "Servers have different tags if their versions or base URLs differ, or if only one of them names authors"
    )
    func otherServer() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            let position = try await TestSite.run(of: database) {
                try await $0.get("/fdsnws/event/1/count").headers["quakes-position"].unwrapped
            }
            let paths = [
                dayPath, "/fdsnws/event/1/query?format=csv",
                "/fdsnws/event/1/query?format=csv&asof=\(position)",
                "/history/usc1",
            ]
            func tags(_ settings: ServerSettings) async throws -> [String] {
                try await TestSite.run(of: database, settings) { site in
                    var tags: [String] = []
                    for path in paths { tags.append(try await site.get(path).headers["etag"].unwrapped) }
                    return tags
                }
            }
            let first = try await tags(.patient)
            #expect(try await tags(.patient) == first)
            var newer = ServerSettings.patient
            newer.version = "1"
            var hiding = ServerSettings.patient
            hiding.namesAuthors = false
            var moved = ServerSettings.patient
            moved.baseURL = "https://quakes.example.org"
            for settings in [newer, hiding, moved] {
                for (path, (old, new)) in zip(paths, zip(first, try await tags(settings))) {
                    #expect(old != new, "\(path)")
                }
            }
        }
    }

    @Test("When the cache is full, only the oldest answers are dropped")
    func evicted() async throws {
        try await TestServer.shared.withDatabase { database in
            let state = try await database.withConnection { try await CatalogueState.read(on: $0) }
            let recent = RecentAnswers()
            let bytes = ByteBuffer(repeating: 0, count: 65_000)
            for number in 0..<100 { recent.keep(.init(bytes: bytes, rows: 0), "\(number)", at: state) }
            let kept = (0..<100).filter { recent.body("\($0)", at: state) != nil }
            #expect(kept == Array(36..<100))
        }
    }

    @Test("A value that is larger than its cache is kept until the next one is added")
    func larger() {
        var cache = ByteBoundedCache<Int, String>(limit: 10)
        cache.add("a", 1, size: 4)
        cache.add("b", 2, size: 20)
        #expect(cache[1] == nil && cache[2] == "b")
        cache.add("c", 3, size: 4)
        #expect(cache[2] == nil && cache[3] == "c")
    }

    @Test("A query that finds no events is answered at once, and the answer has the catalogue's position")
    func oneQuery() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await forEachCase(of: ["geojson", "xml"]) { format in
                let request = try EventRequest(
                    .query, "minmagnitude=9.9&limit=10&format=\(format)", maximum: 20_000)
                let spool = Spool(in: SpoolQuota(1 << 30, Metrics()))
                let writer = AnswerWriter(spool, isCompressed: false)
                let outcome = await database.attempt { connection in
                    try await connection.run { connection in
                        try request.writeAtOnce(on: connection, url: "", writer)
                    }
                }
                switch outcome {
                case .success(let isWritten): #expect(format == "geojson" && isWritten, "\(format)")
                case .failure(let error):
                    #expect(error as? Refusal == Refusal(204, "no event matches"), "\(format)")
                }
                #expect(writer.catalogue?.position.token == 1, "\(format)")
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

extension TestDatabase {
    fileprivate func attempt<Success>(
        _ body: (Connection) async throws -> Success
    ) async -> Result<Success, any Error> {
        do { return .success(try await withConnection(body)) } catch { return .failure(error) }
    }
}
