import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// `QUAKES_STRESS_EVENTS=300000 swift test --filter Backfill` imports more events.
@Suite("quakes backfill")
struct BackfillCommandTests {
    private static let events =
        ProcessInfo.processInfo.environment["QUAKES_STRESS_EVENTS"].flatMap { Int($0) } ?? 30_000

    @Test("If a service sends the same events for every period, the backfill exits with 65 and says why")
    func ignoredTimes() async throws {
        let service = TestEventService(count: 40, limit: 20_000)
        let requests = Counter()
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                guard requests.next() < 200, !request.uri.contains("/count") else {
                    return .whole(.notFound, [])
                }
                let times = "starttime=1970-01-01T00:00:00.000&endtime=1970-01-01T00:39:30.000"
                return service.answer(
                    TestRequest(uri: request.uri.replacing(#/starttime=[^&]*&endtime=[^&]*/#, with: times)))
            }) { server in
                let outcome = try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + ["--per-request", "40"] + service.stretch)
                #expect(outcome.status == 65)
                #expect(
                    outcome.errors.contains("it gives 40 events in one millisecond"), "\(outcome.errors)")
                #expect(server.requests.count < 60)
            }
        }
    }

    /// The first five runs are killed. Each is killed either while the service holds back one of the run's first three answers,
    /// or while the import waits for the table `quake`, which another session has locked. The sixth run completes.
    @Test(
        "A backfill that is killed five times still completes, and repeats only a few requests",
        arguments: [[], ["--newest-first"]])
    func killed(_ order: [String]) async throws {
        var random = seededRandom()
        let service = TestEventService(count: Self.events, limit: Self.events / 15)
        // Requests are numbered. Answers to the request with this number and to later ones are held back until it is raised.
        let firstHeld = Mutex(Int.max)
        let received = Counter()
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                let number = received.next()
                return .held(service.answer(request), until: { number < firstHeld.withLock { $0 } })
            }) { server in
                let arguments =
                    Self.backfill(from: server, into: database)
                    + ["--per-request", "\(service.limit)"] + service.stretch + order
                for _ in 0..<5 {
                    let held = server.requests.count + 1 + random.below(3)
                    let isFetching = random.below(2) == 0
                    firstHeld.withLock { $0 = held }
                    try await database.withConnection { other in
                        let status = try await QuakesCommand().run(arguments) { process in
                            try await waitUntil { server.requests.count >= held }
                            if !isFetching {
                                try await other.execute(
                                    script: "begin; lock table quake in exclusive mode", to: "lock the table")
                                firstHeld.withLock { $0 = .max }
                                try await waitUntil { try await database.blockedSessions() > 0 }
                            }
                            kill(process, SIGKILL)
                        }
                        #expect(status == 128 + SIGKILL)
                        if !isFetching { try await other.execute(script: "rollback", to: "unlock it") }
                    }
                    // The backend holds the lock until it notices that its client was killed.
                    try await waitUntil { try await database.advisoryLocks() == 0 }
                }
                firstHeld.withLock { $0 = .max }

                let last = try await QuakesCommand().run(arguments)

                #expect(last.status == 0, "\(last.errors)")
                let row = try await database.query(
                    "select count(*) as count, count(distinct code) as codes from quake")[0]
                #expect(try row.decode("count") == Self.events)
                #expect(try row.decode("codes") == Self.events)
                // Each window takes two requests: one for the count and one for the events. If all windows were full, there would
                // be 15 windows. Windows are planned to be 90 % full, so there may be 5 more. After each of the 5 kills, one
                // window may be repeated. Each of the six runs may also request the count of the whole stretch.
                let most = 2 * (15 + 5 + 5) + 6
                #expect(
                    server.requests.count <= most,
                    "\(server.requests.count) requests for \(Self.events) events")
            }
        }
    }

    @Test("A service that sends fewer events at once than it counts is asked again until all have arrived")
    func cutOff() async throws {
        try await TestServer.shared.withDatabase { database in
            var service = TestEventService(count: 576, limit: 20_000)
            service.most = 40
            // The table has rows for 44 of the events, but the first answer has only 40 events. If that answer counted as
            // complete, the other 4 rows would be deleted, because the brake stops only deletions
            // of more than 5 events.
            try await database.query(
                """
                insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                select 'q0' || n, 'q0', n, 'http://127.0.0.1/event/q0' || n, to_timestamp(n * 60), to_timestamp(0), 0, 0
                from generate_series(0, 43) as n
                """)
            try await TestFeedServer.run(answering: service.answer) { server in
                let outcome = try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + service.stretch)

                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(outcome.output.contains("; 576 events"), "\(outcome.output)")
                #expect(try await database.query("select from quake").count == 576)
                let deleted = try await database.query(
                    "select from history.change where operation = 'delete'")
                #expect(deleted.isEmpty)
                #expect(server.requests.count < 50, "\(server.requests.count) requests for about 16 windows")
            }
        }
    }

    @Test(
        "After one short answer, the same window is requested again, and later windows stay as large as before"
    )
    func shortOnce() async throws {
        try await TestServer.shared.withDatabase { database in
            var (short, whole) = (
                TestEventService(count: 576, limit: 20_000), TestEventService(count: 576, limit: 20_000)
            )
            short.most = 2
            let queries = Atomic(0)
            try await TestFeedServer.run(answering: { [short, whole] request in
                let isFirst =
                    request.uri.contains("query?")
                    && queries.wrappingAdd(1, ordering: .relaxed).oldValue == 0
                return (isFirst ? short : whole).answer(request)
            }) { server in
                let outcome = try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + whole.stretch)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try await database.query("select from quake").count == 576)
                #expect(server.requests.count < 10, "\(server.requests.count) requests")
            }
        }
    }

    @Test(
        "If a service never sends all the events it counts, the backfill ends with 65, unfinished, and deletes nothing"
    )
    func falling() async throws {
        try await TestServer.shared.withDatabase { database in
            var service = TestEventService(count: 576, limit: 20_000)
            try await TestFeedServer.run(answering: service.answer) { server in
                let whole = try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + service.stretch)
                #expect(whole.status == 0)
            }
            service.isHidden = { $0 == 300 }
            try await TestFeedServer.run(answering: service.answer) { server in
                let outcome = try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + service.stretch)

                #expect(outcome.status == 65)
                let message = outcome.errors.firstMatch(
                    of: #/counts (\d+) events from .*, but gives (\d+); /#)
                let (counted, given) = (message.flatMap { Int($0.1) }, message.flatMap { Int($0.2) })
                #expect(counted.map { $0 - 1 } == given, "\(outcome.errors)")
                #expect(try await database.query("select from quake").count == 576)
                #expect(
                    try await database.query("select from import.backfill where finished_at is null").count
                        == 1)
                let error = try await database.query(
                    "select error from import.run where source like 'backfill%' order by id desc limit 1")
                #expect(try error[0].decode("error", as: String.self).contains("but gives"))
                #expect(server.requests.count < 30, "\(server.requests.count) requests")
            }
        }
    }

    @Test("A second backfill deletes an event that the service does not have")
    func retracted() async throws {
        try await TestServer.shared.withDatabase { database in
            let before = TestEventService(count: 200, limit: 60)
            try await TestFeedServer.run(answering: before.answer) { server in
                let arguments =
                    Self.backfill(from: server, into: database)
                    + ["--per-request", "60"] + before.stretch
                #expect(try await QuakesCommand().run(arguments).status == 0)
                try await database.query(
                    "insert into quake (code, net, net_code, url, time, updated, longitude, latitude) values ('q0gone', 'q0', 'gone', 'http://127.0.0.1/x', to_timestamp(100), to_timestamp(0), 0, 0)"
                )
                let again = try await QuakesCommand().run(arguments)
                #expect(again.status == 0)
                #expect(again.output.contains("1 retracted"), "\(again.output)")
            }
        }
    }

    /// The stretch has ten empty years, and then all events within hours. Windows sized for the average density have either no
    /// events or far too many.
    @Test(
        "Windows with too many events are divided until they fit",
        arguments: [[], ["--newest-first"]])
    func dense(_ order: [String]) async throws {
        try await TestServer.shared.withDatabase { database in
            let service = TestEventService(count: 500, limit: 20)
            try await TestFeedServer.run(answering: service.answer) { server in
                let arguments =
                    Self.backfill(from: server, into: database)
                    + ["--per-request", "20", "--from", "1960-01-01", "--to", "1970-01-02"] + order

                let outcome = try await QuakesCommand().run(arguments)

                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(outcome.output.contains("500 events"))
                let row = try await database.query(
                    "select count(*) as count, (select count(*) from import.run where outcome <> 'done') as bad from quake"
                )[0]
                #expect(try row.decode("count") == 500)
                #expect(try row.decode("bad") == 0)
                #expect(
                    server.requests.count < 140,
                    "\(server.requests.count) requests for 25 full windows, each counted and fetched")
            }
        }
    }

    @Test(
        "If the service fails, the exit code is 69, and a backfill of another stretch is refused until this one is completed"
    )
    func failing() async throws {
        let service = TestEventService(count: 100, limit: 20)
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: Self.refusingFourth(of: service)) { server in
                let base = Self.backfill(from: server, into: database)
                #expect(
                    try await QuakesCommand().run(base + ["--per-request", "20"] + service.stretch).status
                        == 69)
                let other = try await QuakesCommand().run(
                    base + ["--from", "1971-01-01", "--to", "1972-01-01"])
                #expect(other.status == 64)
                #expect(other.errors.contains("--start-over"))
                #expect(
                    try await QuakesCommand().run(base + ["--per-request", "20"] + service.stretch).status
                        == 0)
                #expect(
                    try await database.query("select count(*) as count from quake")[0].decode("count") == 100)
            }
        }
    }

    @Test("A backfill with a relative beginning, such as --since 200y, resumes with the same command")
    func relativeTimes() async throws {
        let service = TestEventService(count: 100, limit: 20)
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: Self.refusingFourth(of: service)) { server in
                let arguments =
                    Self.backfill(from: server, into: database)
                    + ["--per-request", "20", "--since", "200y", "--until", "20y"]
                #expect(try await QuakesCommand().run(arguments).status == 69)
                let outcome = try await QuakesCommand().run(arguments)
                #expect(outcome.status == 0, "\(outcome.errors)")
                let rows = try await database.query(
                    "select from import.backfill where finished_at is not null")
                #expect(rows.count == 1)
                #expect(
                    try await database.query("select count(*) as count from quake")[0].decode("count") == 100)
            }
        }
    }

    @Test("A worker's login can discard an unfinished backfill")
    func startingOver() async throws {
        let service = TestEventService(count: 30, limit: 20)
        try await TestServer.shared.withRoles { roles in
            let worker = roles.login(.writer)
            let isBroken = Mutex(true)
            try await TestFeedServer.run(answering: { request in
                isBroken.withLock { $0 } && request.uri.contains("/query?")
                    ? .whole(.forbidden, []) : service.answer(request)
            }) { server in
                let arguments =
                    Self.backfill(from: server, into: worker) + ["--per-request", "20"] + service.stretch
                let broken = try await QuakesCommand().run(arguments)
                #expect(broken.status == 69)
                isBroken.withLock { $0 = false }

                let outcome = try await QuakesCommand().run(arguments + ["--start-over"])

                #expect(outcome.status == 0, "\(outcome.errors)")
                let backfills = try await roles.database.query(
                    "select finished_at is null as is_open from import.backfill")
                #expect(try backfills.map { try $0.decode("is_open") } == [false])
            }
        }
    }

    @Test(
        "A service with only FDSN text and no counts can be read, and events that it no longer has are deleted"
    )
    func plainService() async throws {
        try await TestServer.shared.withDatabase { database in
            var service = TestEventService(count: 200, limit: 60)
            service.isPlain = true
            func backfill() async throws -> QuakesCommand.Outcome {
                try await TestFeedServer.run(answering: service.answer) { server in
                    try await QuakesCommand().run(
                        Self.backfill(from: server, into: database) + ["--per-request", "60"]
                            + service.stretch)
                }
            }
            let first = try await backfill()
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.output.hasPrefix("200 seen, 200 inserted"), "\(first.output)")
            service.isHidden = { $0 == 77 }
            let second = try await backfill()
            #expect(second.output.contains("1 retracted"), "\(second.output)\(second.errors)")
            #expect(try await database.query("select from quake").count == 199)
        }
    }

    @Test("A full answer with withdrawn events is cut, as any other full answer of a service without counts")
    func withdrawn() async throws {
        try await TestServer.shared.withDatabase { database in
            var service = TestEventService(count: 200, limit: 20_000)
            service.isPlain = true
            service.most = 60
            service.isWithdrawn = { $0.isMultiple(of: 10) }
            let outcome = try await TestFeedServer.run(answering: service.answer) { server in
                try await QuakesCommand().run(
                    Self.backfill(from: server, into: database) + ["--per-request", "60"] + service.stretch)
            }
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try await database.query("select from quake").count == 180)
        }
    }

    /// Unfit answers to the request for a count and to the query, and the reason that the error gives.
    private static let unfit: [(count: TestFeedServer.Answer, query: TestFeedServer.Answer, reason: String)] =
        [
            (
                .whole(.notFound, Array("Not found".utf8)), .whole(.notFound, Array("Not found".utf8)),
                "its answer to query is unusable: cannot read"
            ),
            (quakeML, quakeML, "its answer to count is not a number"),
            (
                .whole(.ok, Array("12".utf8)), .whole(.ok, Array("<!doctype html><p>Hello".utf8)),
                "its answer to query is unusable: broken document: an HTML page"
            ),
            (
                .whole(.ok, Array("12".utf8)), .whole(.ok, Array("no events today\n".utf8)),
                "its answer to query is unusable: broken document: neither GeoJSON"
            ),
        ]
    private static let quakeML = TestFeedServer.Answer.whole(
        .ok,
        Array("<?xml version=\"1.0\"?><q:quakeml xmlns:q=\"http://quakeml.org/xmlns/quakeml/1.2\"/>".utf8))

    @Test(
        "If a service has no readable format, or a malformed count, the exit code is 65 and the error gives the reason"
    )
    func unfitService() async throws {
        try await TestServer.shared.withDatabase { database in
            for service in Self.unfit {
                try await TestFeedServer.run(answering: { request in
                    request.uri.contains("/count?") ? service.count : service.query
                }) { server in
                    let outcome = try await QuakesCommand().run(
                        Self.backfill(from: server, into: database)
                            + ["--from", "2020-01-01", "--to", "2020-01-02"])
                    #expect(outcome.status == 65, "\(service.reason)")
                    #expect(
                        outcome.errors.contains("\(server.url("/fdsnws/event/1/")): \(service.reason)"),
                        "\(outcome.errors)")
                    #expect(
                        outcome.errors.contains("the USGS's GeoJSON or in the FDSN's text"),
                        "\(outcome.errors)")
                }
            }
        }
    }

    /// The service's answers, except that its fourth answer refuses the request.
    private static func refusingFourth(
        of service: TestEventService
    ) -> @Sendable (TestRequest) -> TestFeedServer.Answer {
        let requests = Counter()
        return { request in requests.next() == 4 ? .whole(.forbidden, []) : service.answer(request) }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private static func backfill(from server: TestFeedServer, into database: TestDatabase) -> [String] {
        [
            "backfill", "--database", database.url, "--service", server.url("/fdsnws/event/1"), "--pace",
            "0s",
        ]
    }
}
