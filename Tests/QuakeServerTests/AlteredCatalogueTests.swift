import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("A catalogue whose table is altered")
struct AlteredCatalogueTests {
    private static let count = "/fdsnws/event/1/count"

    @Test("Requests during a rewrite of the table get all events, and so do requests after it")
    func rewritten() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                let during = try await database.altering { try await site.get(Self.count) }
                #expect(during.status == 200 && during.text == "5")
                let tag = try #require(during.headers["etag"])
                for _ in 0..<5 {
                    let after = try await site.get(Self.count, ["If-None-Match": tag])
                    #expect(after.status == 304 || after.text == "5")
                }
            }
        }
    }

    @Test("After an ALTER changes values, answers have the new values at once, and old tags soon get no 304")
    func otherValues() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            try await TestSite.run(of: database) { site in
                let path = "/earthquakes/feed/v1.0/detail/usc1.geojson"
                let before = try await site.get(path)
                #expect(before.text.contains("\"tz\":null"))
                let tag = try #require(before.headers["etag"])
                try await waitUntil { try await site.get(path, ["If-None-Match": tag]).status == 304 }

                try await database.query("alter table quake alter column tz type integer using 60")

                let after = try await site.get(path)
                #expect(after.text.contains("\"tz\":60"))
                #expect(after.headers["etag"] != tag)
                // The server sends a 304 if the tag is that of the newest state it knows. The notification of a change may arrive
                // a moment after the change.
                try await waitUntil { try await site.get(path, ["If-None-Match": tag]).status == 200 }
            }
        }
    }
}
