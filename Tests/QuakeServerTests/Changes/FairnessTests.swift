import Foundation
import Glibc
import QuakeServer
import TestSupport
import Testing

@Suite("Fairness between clients of the changes")
struct FairnessTests {
    private let server = TestServer.shared

    /// Makes queries by distance wait until a lock is free.
    ///
    /// - Parameter lock: an SQL expression.
    private static func slowDistance(untilFree lock: String = "7") -> String {
        """
        create or replace function report.distance_km(
            latitude_1 double precision, longitude_1 double precision,
            latitude_2 double precision, longitude_2 double precision) returns double precision
        language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(\(lock)); return 0; end $$
        """
    }

    /// test          holds a lock                                                              releases it
    /// four clients                ask for snapshots that wait for it                                   get them
    /// fifth client                                    was away for a moment, and resumes
    @Test("A client that resumes never waits behind snapshots, and waiting clients get heartbeats")
    func lanes() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.query("update quake set magnitude = 9 where code = 'usc1'")
            try await database.execute(Self.slowDistance())
            var settings = ServerSettings.patient
            settings.sessions = 2
            settings.heartbeat = .milliseconds(60)
            try await TestSite.run(of: database, settings) { site in
                let (heard, teller) = AsyncStream.makeStream(of: Void.self)
                try await withThrowingTaskGroup(of: Int.self) { group in
                    try await database.withConnection { connection in
                        try await connection.query("select pg_advisory_lock(7)", to: "lock")
                        for number in 1...4 {
                            group.addTask {
                                let circle = "latitude=0&longitude=0&maxradius=\(180 - number)"
                                return try await StreamClient.with(site, circle) { client in
                                    await client.waitForText(":\n\n:\n\n:\n\n")
                                    teller.yield()
                                    return await client.pass().filter { $0.name == "row" }.count
                                }
                            }
                        }
                        for await _ in heard.prefix(4) {}
                        #expect(
                            try await site.get("/metrics").text.contains("quakes_live_clients_waiting 3\n"))
                        try await StreamClient.with(site, "after=1") { client in
                            #expect(await client.events(upTo: 2).filter(\.isChange).map(\.place) == ["2.1"])
                        }
                        #expect(try await site.get(dayPath).status == 200)
                        try await connection.query("select pg_advisory_unlock(7)", to: "unlock")
                    }
                    for try await rows in group { #expect(rows == 3) }
                }
            }
        }
    }

    /// clients    of one address send costly queries, each with its own lock                 two get their answers
    /// another                                                            sends a costly query             is next
    /// others                                                             send short queries, and get their answers
    @Test(
        "Short, cached and monitoring requests never wait behind costly ones, which take turns by address"
    )
    func costly() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.query("update quake set magnitude = 9 where code = 'usc1'")
            try await database.execute(Self.slowDistance(untilFree: "latitude_1::bigint"))
            var settings = ServerSettings.patient
            (settings.sessions, settings.costlyPerAddress) = (2, 5)
            settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network("127.0.0.1"))])
            try await TestSite.run(of: database, settings) { site in
                let kept = "/fdsnws/event/1/query?format=csv&minmagnitude=1"
                let first = try await site.get(kept)
                try await withThrowingTaskGroup(of: TestAnswer.self) { group in
                    try await database.withConnection { connection in
                        try await connection.query(
                            "select pg_advisory_lock(lock) from generate_series(1, 7) as lock", to: "lock")
                        /// Sends a costly query, which waits for the lock `number`.
                        @Sendable func ask(_ number: Int, _ address: String) async throws -> TestAnswer {
                            let circle = "latitude=\(number)&longitude=0&maxradius=170"
                            let past = "/fdsnws/event/1/count?asof=1&\(circle)"
                            return try await site.get(past, ["X-Forwarded-For": address])
                        }
                        for number in 1...5 { group.addTask { try await ask(number, "192.0.2.1") } }
                        try await waitUntil {
                            try await site.get("/metrics").text.contains("quakes_requests_waiting 4\n")
                        }
                        #expect(try await ask(6, "192.0.2.1").status == 429)
                        group.addTask { try await ask(7, "192.0.2.2") }
                        try await waitUntil {
                            try await site.get("/metrics").text.contains("quakes_requests_waiting 5\n")
                        }
                        for path in ["/fdsnws/event/1/count?minmagnitude=2", dayPath, "/health"] {
                            #expect(try await site.get(path).status == 200, "\(path)")
                        }
                        #expect(try await site.get(kept).body == first.body)

                        var order: [Int] = []
                        for _ in 1...3 {
                            let lock = try await awaitedLock(of: database, otherThan: order)
                            order.append(lock)
                            try await connection.query("select pg_advisory_unlock(\(lock))", to: "unlock")
                        }
                        #expect(order.last == 7, "\(order)")
                        try await connection.query("select pg_advisory_unlock_all()", to: "unlock")
                    }
                    for try await answer in group { #expect(answer.status == 200) }
                }
            }
        }
    }

    /// Waits until a query waits for a lock that is not one of the `known` locks, and returns that lock.
    private func awaitedLock(of database: TestDatabase, otherThan known: [Int]) async throws -> Int {
        var new: Int?
        try await waitUntil {
            new = try await database.locks("locktype = 'advisory' and not granted")
                .map { try $0.decode("number") }.first { !known.contains($0) }
            return new != nil
        }
        return try new.unwrapped
    }

    @Test("A query that exceeds its time limit is cancelled, and frees its session")
    func limit() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.execute(Self.slowDistance())
            var settings = ServerSettings.patient
            settings.costlyTime = .milliseconds(300)
            settings.heartbeat = .seconds(3600)
            try await TestSite.run(of: database, settings) { site in
                try await database.withConnection { connection in
                    try await connection.query("select pg_advisory_lock(7)", to: "lock")
                    let answer = try await site.get("/changes?latitude=0&longitude=0&maxradius=180")
                    #expect(answer.status == 503)
                    #expect(answer.text == "The database took too long.\n")
                    try await waitUntil {
                        try await site.get("/metrics").text.contains("quakes_sessions_used 0\n")
                    }
                }
            }
        }
    }

    /// Waits until a query has waited for a lock for 400 ms, which is longer than a short query may take.
    private func aQueryWaits(_ database: TestDatabase) async throws {
        try await waitUntil {
            try await database.query(
                """
                select exists (select from pg_stat_activity
                               where datname = current_database() and wait_event = 'advisory'
                                 and clock_timestamp() - query_start > interval '400 ms') as waits
                """)[0].decode("waits")
        }
    }

    @Test("A snapshot may take longer than the time limits of other queries")
    func longSnapshot() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.execute(Self.slowDistance())
            var settings = ServerSettings.patient
            (settings.shortTime, settings.statementTime) = (.milliseconds(300), .milliseconds(300))
            try await TestSite.run(of: database, settings) { site in
                try await database.withConnection { connection in
                    try await connection.query("select pg_advisory_lock(7)", to: "lock")
                    async let answer = site.get("/changes?wait=0&latitude=0&longitude=0&maxradius=180")
                    try await aQueryWaits(database)
                    try await connection.query("select pg_advisory_unlock(7)", to: "unlock")
                    #expect(try await answer.status == 200)
                    #expect(
                        try await answer.text.split(separator: "\n").count { $0.contains("\"row\"") } == 3)
                }
            }
        }
    }

    @Test(
        "A query that exceeds the time of short queries is repeated as a costly one, and its address's limit applies"
    )
    func notShort() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await database.execute(Self.slowDistance())
            var settings = ServerSettings.patient
            (settings.shortTime, settings.costlyPerAddress) = (.milliseconds(200), 1)
            settings.trustedProxies = TrustedProxies([try #require(TrustedProxies.Network("127.0.0.1"))])
            let address = ["X-Forwarded-For": "192.0.2.1"]
            try await TestSite.run(of: database, settings) { site in
                let path = "/fdsnws/event/1/count?latitude=0&longitude=0&maxradius=17"
                try await database.withConnection { connection in
                    try await connection.query("select pg_advisory_lock(7)", to: "lock")
                    async let first = site.get("\(path)9", address)
                    try await aQueryWaits(database)
                    #expect(try await site.get("\(path)8", address).status == 429)
                    try await connection.query("select pg_advisory_unlock(7)", to: "unlock")
                    #expect(try await first.text == "3")
                }
            }
        }
    }

    /// slow clients     each with its own filter; read the head, and no more                   are dropped
    /// quick client                                                   reads all
    /// writer                                     writes until clients are dropped
    @Test("When clients with different filters are slow, some are dropped, and a quick client misses nothing")
    func slowFilters() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(2000).document)
            var settings = ServerSettings.patient
            settings.passSize = 6 << 20
            try await TestSite.run(of: database, settings) { site in
                let slow = try await liveClients(20, of: site)
                defer { for client in slow { client.close() } }
                try await StreamClient.with(site, "after=now&minmagnitude=0") { quick in
                    var replica = StreamReplica()
                    try replica.apply(await quick.pass())
                    var round = 0
                    while try await site.get("/metrics").text.contains("clients_dropped_total 0\n") {
                        round += 1
                        try await database.query("update quake set magnitude = \(7 + Double(round) / 1000)")
                        try replica.apply(await quick.events(upTo: try await database.newestToken()))
                    }
                    #expect(replica.changes.count == round * 2000)
                }
            }
        }
    }

    /// slow clients    ask for the same snapshot, read only its head          some are dropped
    /// quick client                                       asks for other snapshots, again and again
    @Test("Unread snapshots make room for new ones, and a snapshot that clients share takes room only once")
    func snapshots() async throws {
        try await server.withDatabase { database in
            try await database.importLongEvents(800)
            var settings = ServerSettings.patient
            let room = 12 << 20
            settings.spooledBytes = room
            try await TestSite.run(of: database, settings) { site in
                // Wait until the server follows the changes. Before that, it may begin the same snapshot twice.
                try await waitUntil { try await site.get("/health").status == 200 }
                let slow = (0..<30).map { _ in LoopbackSocket() }
                defer { for client in slow { client.close() } }
                for client in slow {
                    #expect(await site.begin("/changes", on: client).hasPrefix("HTTP/1.1 200"))
                }
                // The clients share one snapshot. Separate snapshots would take 7 MB each.
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_sessions_used 0\n")
                }
                #expect(try await site.get("/metrics").text.contains("quakes_slow_clients_dropped_total 0\n"))
                let held = try await spooled(site)
                // The quota has no room for a second snapshot.
                #expect(held > room / 2)
                for number in 1...4 {
                    let rows = try await StreamClient.with(site, "minmagnitude=-\(number)") { client in
                        await client.pass().filter { $0.name == "row" }.count
                    }
                    #expect(rows == 802)
                    #expect(try await site.get(dayPath).status == 200)
                    // A client that has read everything soon releases its room.
                    try await waitUntil { try await spooled(site) <= held }
                }
                #expect(
                    !(try await site.get("/metrics").text.contains("quakes_slow_clients_dropped_total 0\n")))
            }
        }
    }

    /// Connects live clients, each with its own filter, and reads only the heads of their answers.
    private func liveClients(_ count: Int, of site: TestSite) async throws -> [LoopbackSocket] {
        let clients = (0..<count).map { _ in LoopbackSocket() }
        for (number, client) in clients.enumerated() {
            let path = "/changes?after=now&minmagnitude=-1.\(number)"
            #expect(await site.begin(path, on: client).hasPrefix("HTTP/1.1 200"))
        }
        try await waitUntil {
            try await site.get("/metrics").text.contains("quakes_live_clients \(count)\n")
        }
        return clients
    }

    /// The number of bytes that wait in files.
    private func spooled(_ site: TestSite) async throws -> Int {
        let text = try await site.get("/metrics").text
        return try #require(text.firstMatch(of: /\nquakes_spooled_bytes (\d+)/).flatMap { Int($0.1) })
    }
}
