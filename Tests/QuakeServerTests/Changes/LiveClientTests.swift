import QuakeServer
import SampleFeed
import TestSupport
import Testing

@Suite("Live clients")
struct LiveClientTests {
    private let server = TestServer.shared

    @Test("200 live clients need no additional database session")
    func sessions() async throws {
        try await server.withDatabase { database in
            var settings = ServerSettings.patient
            settings.sessions = 2
            try await TestSite.run(of: database, settings) { site in
                let sessions = try await database.lastingSessions(3)
                let tokens = try await withThrowingTaskGroup(of: Int?.self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            let query = "after=0" + (number % 2 == 0 ? "&minmagnitude=\(number / 2 % 5)" : "")
                            return try await StreamClient.with(site, query) { client in
                                await client.events(upTo: 1).last?.members["token"] as? Int
                            }
                        }
                    }
                    try await waitUntil {
                        try await site.get("/metrics").text.contains("quakes_live_clients 200\n")
                    }
                    let isSame = try await eventually { Set(try await database.otherSessions()) == sessions }
                    #expect(isSame)
                    try await database.importDocument(DayFeed.of(50).document)
                    return try await group.reduce(into: [Int?]()) { $0.append($1) }
                }
                #expect(tokens == Array(repeating: 1, count: 200))
            }
        }
    }

    /// slow client    reads its first position, and no more                      dropped      resumes
    /// other client                              reads all
    /// writer                            writes more than the server keeps
    @Test("A client that does not read is dropped, delays no other client, and can resume")
    func slow() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(1000).document)
            var settings = ServerSettings.patient
            settings.passSize = 2 << 20
            try await TestSite.run(of: database, settings) { site in
                try await StreamClient.with(site, "after=now") { slow in
                    let id = try #require(await slow.pass().last?.id)
                    try await StreamClient.with(site, "after=now") { quick in
                        var replica = StreamReplica()
                        var round = 0
                        while try await site.get("/metrics").text.contains("clients_dropped_total 0\n") {
                            round += 1
                            try await database.query(
                                "update quake set magnitude = \(7 + Double(round) / 1000)")
                            try replica.apply(await quick.events(upTo: try await database.newestToken()))
                        }
                        #expect(replica.changes.count == round * 1000)
                        try await StreamClient.with(site, lastID: id) { resumed in
                            var late = StreamReplica()
                            try late.apply(await resumed.events(upTo: replica.token))
                            #expect(late.changes == replica.changes)
                            #expect(try late.rows == replica.rows)
                        }
                    }
                    while await slow.next() != nil {}
                    #expect(!slow.hasEnded)
                }
            }
        }
    }

    @Test("A pass that is too large to be kept is read from the history")
    func largePass() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(300).document)
            var settings = ServerSettings.patient
            settings.passSize = 100_000
            try await TestSite.run(of: database, settings) { site in
                try await StreamClient.with(site) { client in
                    var replica = StreamReplica()
                    try replica.apply(await client.pass())
                    for magnitude in 1...3 {
                        try await database.query("update quake set magnitude = \(magnitude)")
                        try await database.query("delete from quake where code = 'usc\(magnitude)'")
                    }
                    try replica.apply(await client.events(upTo: try await database.newestToken()))
                    #expect(try await replica.rows == StreamReplica.table(of: database))
                    #expect(replica.snapshots == ["first start"])
                    #expect(Set(replica.changes).count == replica.changes.count)
                }
            }
        }
    }

    @Test(
        "After ALTER TABLE, a stream starts over, because rows may differ without a change",
        arguments: [false, true])
    func altered(whileAway: Bool) async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            try await TestSite.run(of: database) { site in
                try await StreamClient.with(site) { client in
                    var replica = StreamReplica()
                    try replica.apply(await client.pass())
                    let end = """
                        select pg_terminate_backend(pid) from pg_stat_activity
                        where pid <> pg_backend_pid() and datname = current_database()
                        """
                    try await database.execute(
                        """
                        begin; alter table quake add column region text default 'here';
                        \(whileAway ? "\(end);" : "") commit
                        """)
                    try await database.query("delete from quake where code = 'usc1'")
                    let table = try await StreamReplica.table(of: database)
                    while try replica.snapshots.count < 2 || replica.token < 2 || replica.rows != table {
                        try replica.apply(try #require(await client.next()))
                    }
                    #expect(replica.snapshots == ["first start", "the table was altered"])
                }
            }
        }
    }

    /// server's own session     fails                           reads the columns of the table for the first time
    /// client                          takes a snapshot                 takes another one
    /// writer                                         alters the table
    @Test(
        "After ALTER TABLE, a stream starts over, even if the server had not read the table's columns before")
    func alteredEarly() async throws {
        try await server.withRoles { roles in
            let database = roles.database
            try await database.importDocument(DayFeed.of(3).document)
            try await database.execute("revoke execute on function pg_is_in_recovery() from public")
            try await TestSite.run(of: roles.login(.reader)) { site in
                try await StreamClient.with(site) { client in
                    var replica = StreamReplica()
                    try replica.apply(await client.pass())
                    try await database.execute(
                        """
                        alter table quake add column region text default 'here';
                        grant execute on function pg_is_in_recovery() to public
                        """)
                    try await waitUntil { try await site.get("/metrics").text.contains("quakes_token 1\n") }
                    try await database.query("delete from quake where code = 'usc1'")
                    while replica.token < 2 { try replica.apply(try #require(await client.next())) }
                    #expect(try await replica.rows == StreamReplica.table(of: database))
                    #expect(replica.snapshots == ["first start", "the table was altered"])
                }
            }
        }
    }

    /// writer     locks the table                                        releases it
    /// clients                      ask for snapshots, and wait                    get them
    @Test("Waiting snapshots are not limited in number, all are sent, and equal requests share one")
    func turns() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            var settings = ServerSettings.patient
            settings.sessions = 2
            settings.waitingRequests = 0
            try await TestSite.run(of: database, settings) { site in
                try await waitUntil {
                    try await site.get("/metrics").text.contains("quakes_sessions_open 2\n")
                }
                let rows = try await withThrowingTaskGroup(of: Int.self) { group in
                    try await database.withConnection { connection in
                        try await connection.transaction(to: "lock the table") {
                            try await connection.execute(
                                "lock table quake in access exclusive mode", to: "lock the table")
                            for number in 0..<20 {
                                group.addTask {
                                    try await StreamClient.with(site, "minmagnitude=-\(number / 2)") {
                                        client in
                                        await client.pass().filter { $0.name == "row" }.count
                                    }
                                }
                            }
                            try await waitUntil {
                                let text = try await site.get("/metrics").text
                                return text.contains("quakes_live_clients_waiting 9\n")
                                    && text.contains("quakes_http_requests_under_way 21\n")
                            }
                        }
                    }
                    return try await group.reduce(into: [Int]()) { $0.append($1) }
                }
                #expect(rows == Array(repeating: 3, count: 20))
            }
        }
    }

    @Test("A client beyond the maximum number of streams is refused, with Retry-After")
    func full() async throws {
        try await server.withDatabase { database in
            var settings = ServerSettings.patient
            settings.streams = 1
            try await TestSite.run(of: database, settings) { site in
                try await StreamClient.with(site, "after=now") { first in
                    _ = await first.pass()
                    let answer = try await site.get("/changes")
                    #expect(answer.status == 503)
                    #expect(answer.headers["retry-after"] == "5")
                }
                // The server has room again once it has noticed that the first client has disconnected.
                try await waitUntil {
                    try await StreamClient.with(site, "after=now") { $0.status == 200 }
                }
            }
        }
    }

    @Test("When the server shuts down, a stream ends properly, at a position")
    func ending() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(DayFeed.of(5).document)
            var settings = ServerSettings.patient
            settings.endingTime = .seconds(3600)
            let (events, hasEnded) = try await TestSite.run(of: database, settings) { site in
                let (begun, teller) = AsyncStream.makeStream(of: Void.self)
                let reading = Task {
                    try await StreamClient.with(site) { client in
                        var events = await client.pass()
                        teller.yield()
                        while let event = await client.next() { events.append(event) }
                        return (events, client.hasEnded)
                    }
                }
                for await _ in begun { break }
                return reading
            }.value
            #expect(events.last?.isPosition == true)
            #expect(hasEnded)
        }
    }
}
