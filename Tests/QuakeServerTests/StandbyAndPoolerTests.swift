import QuakeServer
import QuakeStore
import TestSupport
import Testing

/// Servers that are not connected to the primary directly.
@Suite("A server on a hot standby, and one behind a pooler")
struct StandbyAndPoolerTests {
    private static let events = "/fdsnws/event/1"
    /// Paths whose answers contain neither the server's address nor the present time.
    private static let paths =
        [dayPath, "/earthquakes/feed/v1.0/summary/all_day.csv", "/earthquakes/feed/v1.0/detail/usc1.geojson"]
        + ["count", "catalogs", "contributors"].map { "\(events)/\($0)" }
        + [
            "format=xml", "format=text", "format=csv", "format=csv&asof=1", "format=csv&includedeleted=only",
            "eventid=usc3",
            "format=csv&updatedafter=2001-01-01&orderby=magnitude&limit=3&minlat=50&maxlat=60",
        ].map { "\(events)/query?\($0)" }

    @Test("A standby gives the primary's answers, and after a commit on the primary, an old tag gets no 304")
    func standby() async throws {
        let primary = try await TemporaryServer.start()
        #expect(try await QuakesCommand().run("migrate", "--database", primary.url).status == 0)
        let database = TestDatabase(url: primary.url)
        try await withStandby(of: primary.cluster) { standby in
            try await compare(database, TestDatabase(url: standby.url())) { try await standby.catchUp() }
        }
    }

    @Test(
        "Through a pooler in transaction mode, answers are the same, and after a commit, an old tag gets no 304",
        .enabled(if: Pooler.isInstalled, "pgbouncer is not installed: apt-get install pgbouncer"))
    func pooler() async throws {
        try await TestServer.shared.withDatabase { database in
            let pooler = try await Pooler.start(
                .transaction, before: try await TestServer.shared.cluster(),
                // Each transaction uses a different session from the transaction before it.
                settings: ["server_round_robin = 1"])
            try await compare(database, pooler.database(database)) {}
            withExtendedLifetime(pooler) {}
        }
    }

    @Test("A client with a position from the primary's server continues its stream at a standby's server")
    func resumes() async throws {
        let primary = try await TemporaryServer.start()
        #expect(try await QuakesCommand().run("migrate", "--database", primary.url).status == 0)
        let database = TestDatabase(url: primary.url)
        try await withStandby(of: primary.cluster) { standby in
            try await database.importDocument(DayFeed.of(20).document)
            let id = try await TestSite.run(of: database) { here in
                try await StreamClient.with(here, "after=now") { try #require(await $0.pass().last?.id) }
            }
            try await database.query("update quake set magnitude = 7 where code = 'usc3'")
            try await standby.catchUp()
            try await TestSite.run(of: TestDatabase(url: standby.url())) { there in
                try await StreamClient.with(there, lastID: id) { client in
                    var replica = StreamReplica()
                    try replica.apply(await client.events(upTo: 2))
                    #expect(replica.changes.count == 1)
                    #expect(replica.codes == ["usc3"])
                }
            }
        }
    }

    /// primary: has 20 events
    /// standby: has none of them ──────────────────────────────────── resumes replay
    /// client:  has the primary's position ─ asks the standby, waits ─────────────── continues
    @Test("A client that is ahead of a standby waits for it, and does not start over")
    func ahead() async throws {
        let primary = try await TemporaryServer.start()
        #expect(try await QuakesCommand().run("migrate", "--database", primary.url).status == 0)
        let database = TestDatabase(url: primary.url)
        try await withStandby(of: primary.cluster) { standby in
            let copy = TestDatabase(url: standby.url())
            try await standby.catchUp()
            try await copy.query("select pg_wal_replay_pause()")
            try await database.importDocument(DayFeed.of(20).document)
            let id = try await TestSite.run(of: database) { here in
                try await StreamClient.with(here, "after=now") { try #require(await $0.pass().last?.id) }
            }
            try await database.query("update quake set magnitude = 7 where code = 'usc3'")
            try await TestSite.run(of: copy) { there in
                // The server sends the response's head with the first heartbeat, so the body below runs while the standby is
                // still behind.
                try await StreamClient.with(there, lastID: id) { client in
                    try await copy.query("select pg_wal_replay_resume()")
                    var replica = StreamReplica()
                    try replica.apply(await client.events(upTo: 2))
                    #expect(replica.changes.count == 1)
                    #expect(replica.codes == ["usc3"])
                }
            }
        }
    }

    /// - Parameter catchUp: Waits until the other database has everything that is committed.
    private func compare(
        _ database: TestDatabase, _ other: TestDatabase,
        _ catchUp: @escaping @Sendable () async throws -> Void
    ) async throws {
        var feed = DayFeed.of(200)
        try await database.importDocument(feed.document)
        try await database.query("delete from quake where code = 'usc7'")
        try await catchUp()
        feed.generated += 1
        feed.add("new", magnitude: "7")
        let next = feed.document
        try await TestSite.run(of: database) { direct in
            try await TestSite.run(of: other) { detour in
                try await waitUntil { try await detour.get("/health").status == 200 }
                for path in Self.paths {
                    let (expected, found) = (try await direct.get(path), try await detour.get(path))
                    #expect(found.status == 200, "\(path): \(found.text.prefix(500))")
                    #expect(found.text == expected.text, "\(path)")
                    #expect(found.token == (path.contains("asof=") ? nil : 2))
                }
                let metrics = try await detour.get("/metrics").text
                #expect(metrics.contains("quakes_newest_token 2\n"))

                let tag = try #require(try await detour.get(dayPath).headers["etag"])
                try await waitUntil { try await detour.get(dayPath, ["If-None-Match": tag]).status == 304 }
                try await database.importDocument(next)
                try await catchUp()
                try await waitUntil {
                    let answer = try await detour.get(dayPath, ["If-None-Match": tag])
                    return answer.status == 200 && answer.text.contains("usnew")
                }
            }
        }
    }
}
