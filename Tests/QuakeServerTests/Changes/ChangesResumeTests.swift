import Glibc
import PostgreSQL
import QuakeServer
import QuakeStore
import SampleFeed
import TestSupport
import Testing

@Suite("Resuming the stream of changes")
struct ChangesResumeTests {
    private let server = TestServer.shared

    /// client    query      follows after its position …       is cut off after each event; resumes after its last id
    /// writer          w1               w2 w3 …
    ///
    /// The client follows from its query's position. Then it resumes once after each event that it received. The first server
    /// still has the changes in memory. The second server reads them from the history.
    @Test(
        "A client that is cut off after any event resumes at its last position, and ends with the right rows")
    func everyCut() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(3, to: database)
            let (start, events) = try await TestSite.run(of: database) { [writer] site in
                var writer = writer
                try await waitUntil { try await site.get(dayPath).status == 200 }
                let answer = try await site.get(dayPath)
                let start = try #require(answer.headers["quakes-position"])
                try await writer.write(1, to: database)
                return try await StreamClient.with(site, "after=\(start)") { client in
                    var events: [StreamClient.Event] = []
                    // Cause at least five passes, even if the service is slow and combines transactions.
                    for _ in 0..<5 {
                        try await writer.write(3, to: database)
                        events += await client.events(upTo: try await database.newestToken())
                    }
                    try await Self.resumeEverywhere(events, from: start, site, database)
                    return (start, events)
                }
            }
            #expect(events.filter(\.isPosition).count > 3)
            try await TestSite.run(of: database) { site in
                try await Self.resumeEverywhere(events, from: start, site, database)
            }
        }
    }

    private static func resumeEverywhere(
        _ events: [StreamClient.Event], from start: String, _ site: TestSite, _ database: TestDatabase
    ) async throws {
        let newest = try await database.newestToken()
        let changes = events.filter(\.isChange)
        // Resume after every position in the stream.
        for id in [start] + events.compactMap(\.id) {
            let token = try #require(Position(word: id)?.token)
            let resumed = try await StreamClient.with(site, "after=now", lastID: id) { client in
                await client.events(upTo: newest)
            }
            let expected = changes.filter { ($0.members["token"] as? Int ?? 0) > token }
            #expect(resumed.filter(\.isChange).map(\.place) == expected.map(\.place))
            #expect(resumed.filter(\.isSnapshot).isEmpty)
        }
        // Applying a part of a pass twice gives the same rows.
        let rows = try await StreamReplica.table(of: database)
        for cut in events.indices {
            var replica = StreamReplica()
            try replica.apply(Array(events[...cut]))
            let id = replica.id ?? start
            let index = events.firstIndex { $0.id == id } ?? -1
            try replica.apply(Array(events[(index + 1)...]))
            #expect(try replica.rows.filter { rows[$0.key] != $0.value }.isEmpty)
        }
    }

    /// client    query at p        follows after p
    /// writer    …  …  …  …  …  …  …  …  …  …
    @Test("The stream after a query's position has exactly the changes since the query, even during writes")
    func noGap() async throws {
        try await server.withDatabase { database in
            let random = seededRandom()
            try await TestSite.run(of: database) { site in
                let writing = Task {
                    var writer = RandomWriter(random)
                    while !Task.isCancelled { try await writer.write(1, to: database) }
                }
                defer { writing.cancel() }
                try await waitUntil { try await site.get("/health").status == 200 }
                for _ in 0..<10 {
                    try await StreamClient.with(site) { client in
                        var replica = StreamReplica()
                        try replica.apply(await client.pass())
                        let answer = try await site.get("/fdsnws/event/1/query?format=csv")
                        let position = try #require(answer.headers["quakes-position"])
                        let token = try #require(answer.token)
                        try replica.apply(await client.events(upTo: token))
                        try await StreamClient.with(site, "after=\(position)") { second in
                            let events = await second.events(upTo: token + 3)
                            let tokens = events.filter(\.isChange).compactMap { $0.members["token"] as? Int }
                            #expect(tokens.first.map { $0 > token } ?? true)
                            #expect(tokens == tokens.sorted())
                            let last = try #require(events.last?.members["token"] as? Int)
                            let missed = try await database.changes(after: token, upTo: last)
                            #expect(events.filter(\.isChange).map(\.place) == missed)
                        }
                    }
                }
                writing.cancel()
                _ = await writing.result
            }
        }
    }

    @Test(
        "A stream can resume after a token without its time; after an unknown token it begins with a snapshot and says why"
    )
    func token() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(6, to: database)
            let newest = try await database.newestToken()
            try await TestSite.run(of: database) { site in
                for token in 0...newest {
                    try await StreamClient.with(site, "after=\(token)") { client in
                        let events = await client.events(upTo: newest)
                        #expect(events.filter(\.isSnapshot).isEmpty)
                        let expected = try await database.changes(after: token, upTo: newest)
                        #expect(events.filter(\.isChange).map(\.place) == expected)
                    }
                }
                try await StreamClient.with(site, "after=\(newest + 1)") { client in
                    let reason =
                        "token \(newest + 1) is unknown in this database, whose newest token is \(newest)"
                    #expect(await client.next()?.data.hasPrefix(#"{"snapshot":"\#(reason)"#) == true)
                }
            }
        }
    }

    @Test("If a position is no longer valid, the stream says why, and starts with a snapshot")
    func noLongerHolds() async throws {
        try await server.withDatabase { database in
            var writer = RandomWriter(seededRandom())
            try await writer.write(5, to: database)
            let (word, other) = try await TestSite.run(of: database) { site in
                let word = try await StreamClient.with(site) { try #require(await $0.pass().last?.id) }
                let other = "1_2020-01-01T00:00:00.000000Z_" + String(word.suffix(45))
                return (word, other)
            }
            try await writer.write(5, to: database)
            try await database.query("select history.prune('0')")
            let foreign = String(word.dropLast(36)) + "00000000-0000-0000-0000-000000000000"
            let reasons = [
                word: "the history after token", other: "the history after token 1 was pruned",
                foreign: "the database is not the one that was followed before",
            ]
            try await TestSite.run(of: database) { site in
                for (id, reason) in reasons {
                    try await StreamClient.with(site, lastID: id) { client in
                        let events = await client.pass()
                        #expect(events.first?.data.hasPrefix(#"{"snapshot":"\#(reason)"#) == true)
                        var replica = StreamReplica()
                        try replica.apply(events)
                        #expect(try await replica.rows == StreamReplica.table(of: database))
                    }
                }
            }
        }
    }

    /// database   stops                                  starts, gets a change
    /// client             gets a message, asks for the health             gets the change
    @Test("When the database stops, a live client gets one message, and the server's health is 503 at once")
    func away() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        #expect(try await QuakesCommand().run("migrate", "--database", server.url).status == 0)
        try await TestSite.run(of: database) { site in
            try await StreamClient.with(site, "after=now") { client in
                #expect(await client.pass().count == 1)
                try await server.cluster.stop()
                #expect(await client.next() == .init(name: "away", data: "{}"))
                let health = try await site.get("/health")
                #expect(health.status == 503 && health.text.contains("\"the database does not answer\""))
                try await server.cluster.start()
                try await database.importFeatures([SmallFeed.feature("a")])
                let events = await client.pass()
                #expect(events.map(\.name) == ["change", "position"], "\(events)")
                try await waitUntil { try await site.get("/health").status == 200 }
            }
        }
    }

    @Test("A restart of the database delays a live client, and has no other effect")
    func restart() async throws {
        // Without this setting, a crash could lose a commit that the client already has.
        let server = try await TemporaryServer.start(settings: ["synchronous_commit": "on"])
        let database = TestDatabase(url: server.url)
        #expect(try await QuakesCommand().run("migrate", "--database", server.url).status == 0)
        var writer = RandomWriter(seededRandom())
        try await writer.write(5, to: database)
        try await TestSite.run(of: database) { [writer] site in
            var writer = writer
            try await StreamClient.with(site) { client in
                var replica = StreamReplica()
                try replica.apply(await client.pass())
                for signal in [SIGINT, SIGQUIT] {
                    try await server.cluster.stop(signal: signal)
                    try await server.cluster.start()
                    try await writer.write(5, to: database)
                    let newest = try await database.newestToken()
                    try replica.apply(await client.events(upTo: newest))
                    #expect(replica.token == newest)
                    #expect(
                        try await replica.rows == StreamReplica.table(of: database), "\(signal), \(replica)")
                }
                #expect(replica.snapshots == ["first start"])
                #expect(Set(replica.changes).count == replica.changes.count)
            }
        }
    }
}

extension TestDatabase {
    func newestToken() async throws -> Int {
        try await query("select history.current_token() as token")[0].decode("token")
    }

    /// The places (token and ordinal) of the changes between two tokens.
    func changes(after token: Int, upTo last: Int) async throws -> [String] {
        try await query(
            "select token || '.' || ordinal as place from history.changes(\(token), 'quake', \(last))"
        ).map { try $0.decode("place") }
    }
}
