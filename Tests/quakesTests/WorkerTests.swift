import Foundation
import Glibc
import PostgreSQL
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

/// The executable as a service: as a daemon, beside another worker, and killed.
///
/// `QUAKES_STRESS_KILLS=100 swift test --filter WorkerTests` kills more often.
@Suite("The worker as a service", .endsHanging)
struct WorkerTests {
    private static let kills =
        ProcessInfo.processInfo.environment["QUAKES_STRESS_KILLS"].flatMap { Int($0) } ?? 10

    @Test("A daemon imports what is new, survives a restart of PostgreSQL, and ends with 0 on SIGTERM")
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

                try await server.cluster.stop(.immediate)
                feed.grow()
                try await server.cluster.start()
                try await waitUntil { try await database.quakes() == 3 }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
        let left = try await database.query(
            """
            select count(*) filter (where outcome = 'running') as running, count(distinct source) as sources,
                   (select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks
            from import.run
            """)[0]
        #expect(try left.decode("sources") == 2)
        #expect(try left.decode("locks") == 0)
    }

    @Test("A daemon waits for a database that is not available yet")
    func databaseComesLater() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        let feed = GrowingFeed()
        try await TestFeedServer.run(answering: feed.answer(to:)) { http in
            let arguments = ["import", http.url("/feed"), "--every", "0.1s", "--database", database.url]
            try await server.cluster.stop()
            let status = try await QuakesCommand().run(arguments) { process in
                try await Task.sleep(for: .milliseconds(300))
                try await server.cluster.start()
                // The database is available but not migrated.
                try await Task.sleep(for: .milliseconds(300))
                try await database.withConnection { _ = try await Migrator($0).migrate() }
                try await waitUntil { try await database.quakes() == 1 }
                kill(process, SIGINT)
            }
            #expect(status == 0)
        }
    }

    @Test("If two workers import the same feed at once, one does the work and the other ends with 75")
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

    @Test(
        "Killed or stopped at random moments, it loses no record and leaves no lock and no unfinished run"
    )
    func killed() async throws {
        var random = SplitMix64(seed: UInt64.random(in: 0..<1000))
        try await TestServer.shared.withDatabase { database in
            let feed = GrowingFeed(3000)
            try await TestFeedServer.run(answering: feed.answer(to:)) { http in
                let arguments = ["import", http.url("/feed"), "--batch", "500", "--database", database.url]
                for _ in 0..<Self.kills {
                    feed.grow()
                    let signal = random.below(2) == 0 ? SIGKILL : SIGTERM
                    let wait = Duration.milliseconds(random.below(400))
                    let status = try await QuakesCommand().run(arguments) { process in
                        try await Task.sleep(for: wait)
                        kill(process, signal)
                    }
                    // 75 when the backend of a killed worker is still busy.
                    #expect([0, 75, 128 + signal].contains(status))
                }
                var last = try await QuakesCommand().run(arguments)
                try await waitUntil {
                    if last.status == 75 { last = try await QuakesCommand().run(arguments) }
                    return last.status != 75
                }
                #expect(last.status == 0, "\(last.errors)")
            }
            #expect(try await database.quakes() == 3000 + Self.kills)
            let left = try await database.query(
                """
                select (select count(*) from import.run where outcome = 'running') as running,
                       (select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) as locks,
                       (select count(*) from import.run where outcome = 'cancelled') as cancelled
                """)[0]
            #expect(try left.decode("running") == 0)
            #expect(try left.decode("locks") == 0)
        }
    }
}

/// A feed that gains events on request.
private final class GrowingFeed: Sendable {
    private let count: Mutex<Int>

    init(_ count: Int = 1) { self.count = Mutex(count) }

    func grow() { count.withLock { $0 += 1 } }

    func answer<Request>(to _: Request) -> TestFeedServer.Answer {
        let features = (0..<count.withLock { $0 }).map { SmallFeed.feature("\($0)") }
        return .whole(.ok, Array(SmallFeed.document(features).utf8))
    }
}

extension TestDatabase {
    fileprivate func quakes() async throws -> Int {
        do {
            return try await query("select count(*) as count from quake")[0].decode("count")
        } catch let error as PostgresError where error.connectionLost || error.isUndefinedObject {
            return -1
        }
    }
}
