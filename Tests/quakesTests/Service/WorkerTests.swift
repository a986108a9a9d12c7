import Foundation
import Glibc
import PostgreSQL
import QuakeStore
import Synchronization
import TestSupport
import Testing

/// Runs the executable as a daemon, at the same time as another worker, and kills it.
///
/// `QUAKES_STRESS_KILLS=100 swift test --filter WorkerTests` kills more often.
@Suite("The worker as a service")
struct WorkerTests {
    private static let kills =
        ProcessInfo.processInfo.environment["QUAKES_STRESS_KILLS"].flatMap { Int($0) } ?? 10

    @Test("A daemon imports new events, survives a restart of PostgreSQL, and ends with 0 on SIGTERM")
    func daemon() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        let feed = GrowingFeed()
        try await TestFeedServer.run(answering: feed.answer(to:)) { http in
            let arguments = [
                "import", http.url("/one"), http.url("/two"), "--every", "0.1s", "--database", database.url,
            ]
            let status = try await QuakesCommand().run(arguments) { process in
                try await waitUntil { try await database.quakes() == 1 }
                feed.grow()
                try await waitUntil { try await database.quakes() == 2 }

                try await server.cluster.stop(signal: SIGQUIT)
                feed.grow()
                try await server.cluster.start()
                try await waitUntil { try await database.quakes() == 3 }
                // One source may have had all the events, so wait until both sources have a run.
                try await waitUntil {
                    try await database.query("select distinct source from import.run").count == 2
                }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
        try await waitUntil { try await database.advisoryLocks() == 0 }
    }

    @Test("A daemon waits for a database that is not available yet")
    func databaseComesLater() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        let feed = GrowingFeed()
        try await TestFeedServer.run(answering: feed.answer(to:)) { http in
            // The daemon connects through this proxy, which counts the attempts.
            let path = try SwallowingProxy(to: server.cluster.socketDirectory)
            let url = database.url.replacing(
                /host=[^&]*/, with: "host=\(path.directory.replacing("/", with: "%2F"))")
            let arguments = ["import", http.url("/feed"), "--every", "0.1s", "--database", url]
            try await server.cluster.stop()
            let status = try await QuakesCommand().run(arguments) { process in
                try await waitUntil { path.connectionCount > 0 }
                try await server.cluster.start()
                let attempts = path.connectionCount
                // Wait for two more attempts, because only the second one certainly begins after the server has started.
                try await waitUntil { path.connectionCount > attempts + 1 }
                try await database.withConnection { _ = try await Migrator($0).migrate() }
                try await waitUntil { try await database.quakes() == 1 }
                kill(process, SIGINT)
            }
            #expect(status == 0)
            try path.remove()
        }
    }

    @Test(
        "If two workers import the same feed at the same time, one does the work and the other ends with 75")
    func twoWorkers() async throws {
        try await TestServer.shared.withDatabase { database in
            let feed = GrowingFeed()
            let isOpen = Mutex(false)
            try await TestFeedServer.run(answering: { _ in
                .held(feed.answer(to: ()), until: { isOpen.withLock { $0 } })
            }) { http in
                let arguments = ["import", http.url("/feed"), "--database", database.url]
                async let first = QuakesCommand().run(arguments)
                try await waitUntil { !http.requests.isEmpty }

                let second = try await QuakesCommand().run(arguments)
                #expect(second.status == 75)
                #expect(second.errors.contains("another run is importing"))

                isOpen.withLock { $0 = true }
                #expect(try await first.status == 0)
                #expect(http.requests.count == 1)
                #expect(try await QuakesCommand().run(arguments).status == 0)
            }
            #expect(try await database.quakes() == 1)
        }
    }

    @Test("A run whose source does not respond is recorded when it times out or is stopped")
    func silentSource() async throws {
        try await TestServer.shared.withDatabase { database in
            for isKnown in [false, true] {
                for isStopped in [false, true] {
                    try await expectRecord(isKnown: isKnown, isStopped: isStopped, in: database)
                }
            }
        }
    }

    /// - Parameter isKnown: whether the source responded to an earlier run.
    private func expectRecord(isKnown: Bool, isStopped: Bool, in database: TestDatabase) async throws {
        let document = Array(SmallFeed.document([SmallFeed.feature("a")]).utf8)
        let answers: [TestFeedServer.Answer] =
            (isKnown ? [.whole(.ok, document, headers: ["etag": "\"1\""])] : []) + [.silent]
        let before = try await database.outcomes().count
        try await TestFeedServer.run(script: answers) { http in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let arguments = ["import", http.url("/feed-\(isKnown)-\(isStopped)")]
            let name = "known: \(isKnown), stopped: \(isStopped)"
            if isKnown { #expect(try await quakes.run(arguments).status == 0, "\(name)") }
            let requests = http.requests.count

            let status: Int32
            if isStopped {
                status = try await quakes.run(arguments) { process in
                    try await waitUntil { http.requests.count > requests }
                    kill(process, SIGTERM)
                }
            } else {
                status = try await quakes.run(arguments + ["--timeout", "2s"]).status
            }

            #expect(status == (isStopped ? 143 : 69), "\(name)")
            let outcomes = try await Array(database.outcomes().dropFirst(before))
            #expect(
                outcomes == (isKnown ? ["done"] : []) + [isStopped ? "cancelled" : "failed"], "\(name)")
        }
    }

    @Test("status --max-age reports a source that has not responded since the daemon started")
    func silentFromTheFirst() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(script: [.silent]) { http in
                let quakes = QuakesCommand(["DATABASE_URL": database.url])
                let status = try await quakes.run(["import", http.url("/feed"), "--every", "1m"]) { process in
                    try await waitUntil { !http.requests.isEmpty }
                    let status = try await quakes.run("status", "--max-age", "1h")
                    #expect(status.status == 69)
                    #expect(status.errors.contains("/feed has never been imported successfully"))
                    kill(process, SIGTERM)
                }
                #expect(status == 0)
            }
        }
    }

    @Test("While another session has locked the table, status ends with an error instead of waiting")
    func lockedTable() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.withConnection { connection in
                try await connection.transaction(to: "hold the table") {
                    try await connection.execute(
                        script: "lock table quake in access exclusive mode", to: "hold the table")
                    let status = try await QuakesCommand(["DATABASE_URL": database.url])
                        .run("status", "--max-age", "1h", "--quiet")
                    #expect(status.status == 69)
                    #expect(status.errors.contains("lock timeout"), "\(status.errors)")
                }
            }
        }
    }

    @Test("A mirror asks at most once a second, even if a cache answers at once that nothing has changed")
    func staleCache() async throws {
        let position = """
            {"store":"0e2d3c00-0000-0000-0000-000000000000","token":1,"committed_at":"2026-01-01T00:00:00.000000Z",\
            "nonce":"00000000","shape":"0"}

            """
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { _ in .whole(.ok, Array(position.utf8)) }) { http in
                let quakes = QuakesCommand(["DATABASE_URL": database.url])
                let start = ContinuousClock.now
                _ = try await quakes.run(["import", http.url("/changes"), "--every", "1m"]) { process in
                    try await waitUntil { http.requests.count >= 3 }
                    kill(process, SIGTERM)
                }
                // The first answer brings the position; then one second passes between two requests.
                let seconds = Int(start.duration(to: .now).components.seconds)
                #expect(http.requests.count <= seconds + 3)
            }
        }
    }

    @Test(
        "While a daemon imports a source, a second daemon waits, and says so once",
        arguments: ["/changes", "/feed"])
    func twoDaemons(path: String) async throws {
        let cluster = try await TemporaryServer.start()
        let database = TestDatabase(url: cluster.url)
        try await database.withConnection { _ = try await Migrator($0).migrate() }
        // The second daemon connects through this proxy, which counts the attempts.
        let way = try SwallowingProxy(to: cluster.cluster.socketDirectory)
        let url = database.url.replacing(
            /host=[^&]*/, with: "host=\(way.directory.replacing("/", with: "%2F"))")
        // Once the first daemon has made its request, it holds the source.
        try await TestFeedServer.run(script: [.silent]) { http in
            let arguments = ["import", http.url(path), "--every", "0.1s", "--database"]
            let first = try await QuakesCommand().run(arguments + [database.url]) { first in
                try await waitUntil { !http.requests.isEmpty }
                let nowhere = FileHandle(forWritingAtPath: "/dev/null")!
                let second = try await QuakesCommand().run(arguments + [url], writingTo: nowhere) { second in
                    try await waitUntil { way.connectionCount >= 3 }
                    kill(second, SIGTERM)
                }
                #expect(second.status == 0)
                #expect(second.errors.components(separatedBy: "another run is importing").count == 2)
                kill(first, SIGTERM)
            }
            #expect(first == 0)
        }
        try way.remove()
    }

    /// first:  begins run 1 ──────────────── is killed
    /// second:      begins run 2 ───────────────────────────── is stopped: cancelled
    /// third:                   begins run 3         run 4                            run 5
    ///                          both live: stay      one of them lives: stay          none lives: closes run 1
    @Test(
        "A dead run from standard input is closed once every other such run has ended; a live run is never closed"
    )
    func killedFromStandardInput() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            @Sendable func importAgain() async throws {
                let outcome = try await quakes.run("import", "-", input: SmallFeed.document([]))
                #expect(outcome.status == 0)
            }
            let status = try await quakes.run(["import", "-"]) { first in
                try await waitUntil { try await database.outcomes().count == 1 }
                let status = try await quakes.run(["import", "-"]) { second in
                    try await waitUntil { try await database.outcomes().count == 2 }
                    try await importAgain()
                    #expect(try await database.outcomes() == ["running", "running", "done"])

                    kill(first, SIGKILL)
                    // The session of the first worker ends when the server notices its death.
                    try await waitUntil { try await database.advisoryLocks() == 1 }
                    try await importAgain()
                    #expect(try await database.outcomes() == ["running", "running", "done", "done"])
                    kill(second, SIGTERM)
                }
                #expect(status == 143)
            }
            #expect(status == 137)
            try await importAgain()
            #expect(try await database.outcomes() == ["failed", "cancelled", "done", "done", "done"])
            let errors = try await database.query("select error from import.run where id = 1")
            #expect(try errors[0].decode("error") == "the worker died")
        }
    }

    @Test("A daemon respects the wait that a server asks for, and logs it")
    func leftAlone() async throws {
        try await TestServer.shared.withDatabase { database in
            let feed = GrowingFeed()
            try await TestFeedServer.run(answering: { request in
                switch request.uri {
                case "/busy": .whole(.serviceUnavailable, [], headers: ["retry-after": "3600"])
                case "/still": .whole(.ok, feed.bytes, headers: ["cache-control": "max-age=2147483648"])
                default: feed.answer(to: request)
                }
            }) { http in
                let urls = ["/busy", "/still", "/feed"].map { http.url($0) }
                @Sendable func count(_ uri: String) -> Int { http.requests.count { $0.uri == uri } }
                let said = [
                    "\(urls[0]): waiting 3600 s, as its server asks\n",
                    "\(urls[1]): its server says that it will not change for 2147483648 s; asking again after 900 s\n",
                ]
                try await withFolder { folder in
                    let errors = folder.appending(path: "errors").path
                    var quakes = QuakesCommand(["DATABASE_URL": database.url])
                    quakes.launcher = QuakesCommand.intoFile + [errors]
                    _ = try await quakes.run(["import"] + urls + ["--every", "0.01s"]) { process in
                        try await waitUntil {
                            let lines = (try? String(contentsOfFile: errors, encoding: .utf8)) ?? ""
                            return said.allSatisfy(lines.contains)
                        }
                        let before = count("/feed")
                        try await waitUntil { count("/feed") > before + 10 }
                        kill(process, SIGTERM)
                    }
                }
                #expect(count("/busy") == 1 && count("/still") == 1)
            }
        }
    }

    /// Each worker is killed or stopped while it waits for the feed, or for another session that has inserted one of the feed's
    /// events. This event is at a random place in the feed.
    @Test(
        "After workers were killed or stopped at random, no event is lost, and no lock and no unfinished run remain"
    )
    func killed() async throws {
        var random = seededRandom()
        try await TestServer.shared.withDatabase { database in
            let feed = GrowingFeed(3000)
            let isHeld = Mutex(false)
            try await TestFeedServer.run(answering: { request in
                .held(feed.answer(to: request), until: { !isHeld.withLock { $0 } })
            }) { http in
                let arguments = ["import", http.url("/feed"), "--batch", "500", "--database", database.url]
                var outcomes: [String] = []
                for life in 0..<Self.kills {
                    let signal = life.isMultiple(of: 2) ? SIGKILL : SIGTERM
                    let code = feed.grow(at: random.below(3000))
                    // The first two workers wait for the other session.
                    let isFetching = life > 1 && random.below(4) == 0
                    isHeld.withLock { $0 = isFetching }
                    let requests = http.requests.count

                    try await database.withConnection { holder in
                        try await holder.execute(script: "begin", to: "hold a key")
                        try await holder.execute(
                            """
                            insert into quake (code, net, net_code, time, updated, longitude, latitude)
                            values (\("q0\(code)"), 'q0', \(code), now(), now(), 0, 0)
                            """, to: "hold a key")
                        let status = try await QuakesCommand().run(arguments) { process in
                            try await waitUntil {
                                isFetching
                                    ? http.requests.count > requests
                                    : try await database.blockedSessions() > 0
                            }
                            kill(process, signal)
                        }
                        #expect(status == 128 + signal)
                        try await holder.execute(script: "rollback", to: "let go")
                    }
                    // The backend of a killed worker ends when it notices that its client has disconnected.
                    try await waitUntil { try await database.advisoryLocks() == 0 }
                    // This worker has closed the run that a killed worker left.
                    outcomes = outcomes.map { $0 == "running" ? "failed" : $0 }
                    outcomes.append(signal == SIGTERM ? "cancelled" : "running")
                    #expect(try await database.outcomes() == outcomes)
                }
                isHeld.withLock { $0 = false }
                let last = try await QuakesCommand().run(arguments)
                #expect(last.status == 0, "\(last.errors)")
                outcomes = outcomes.map { $0 == "running" ? "failed" : $0 } + ["done"]
                #expect(try await database.outcomes() == outcomes)
            }
            #expect(try await database.quakes() == 3000 + Self.kills)
            try await waitUntil { try await database.advisoryLocks() == 0 }
        }
    }
}

/// A feed to which a test adds events.
private final class GrowingFeed: Sendable {
    private let codes: Mutex<[String]>

    init(_ count: Int = 1) { codes = Mutex((0..<count).map { "\($0)" }) }

    /// Inserts a new event at the index `place`, and returns its code.
    @discardableResult
    func grow(at place: Int = 0) -> String {
        codes.withLock { codes in
            let code = "\(codes.count)"
            codes.insert(code, at: place)
            return code
        }
    }

    var bytes: [UInt8] {
        Array(SmallFeed.document(codes.withLock { $0 }.map { SmallFeed.feature($0) }).utf8)
    }

    func answer<Request>(to _: Request) -> TestFeedServer.Answer { .whole(.ok, bytes) }
}

extension TestDatabase {
    /// The outcome of each run, in order.
    fileprivate func outcomes() async throws -> [String] {
        try await query("select outcome from import.run order by id").map { try $0.decode("outcome") }
    }

    fileprivate func quakes() async throws -> Int {
        do {
            return try await query("select count(*) as count from quake")[0].decode("count")
        } catch let error as PostgresError where error.connectionLost || error.isUndefinedObject {
            return -1
        }
    }
}
