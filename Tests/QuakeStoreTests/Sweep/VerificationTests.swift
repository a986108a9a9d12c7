import Feed
import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Verifying a period with an event service")
struct VerificationTests {
    private let server = TestServer.shared
    private static let minute = 60_000
    private static let day = 86_400_000
    private static let now = Int(Date().timeIntervalSince1970) * 1000 - 3 * day

    /// Events 10 minutes apart, starting two days before `now`. All of them were revised one day before `now`.
    private func catalogue(_ count: Int = 100) -> TestCatalogue {
        let catalogue = TestCatalogue(now: Self.now)
        catalogue.change { state in
            for number in 0..<count {
                state.add(
                    TestCatalogue.Event(
                        "us\(1000 + number)", time: Self.now - 2 * Self.day + number * 10 * Self.minute,
                        updated: Self.now - Self.day, magnitude: Double(number % 50) / 10))
            }
        }
        return catalogue
    }

    /// Runs `body` with a table into which the catalogue has been swept.
    private func withSweptCatalogue(
        _ body: (TestCatalogue, TestDatabase, TestFeedServer) async throws -> Void
    ) async throws {
        let catalogue = catalogue()
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                try await database.sweep(through: server)
                try await body(catalogue, database, server)
            }
        }
    }

    /// - Parameter between: called between the comparison and the repair.
    private func verify(
        _ database: TestDatabase, through server: TestFeedServer, repairs: Bool = false, limit: Int? = nil,
        retraction: Importer.Retraction = .auto, between: @escaping @Sendable () -> Void = {}
    ) async throws -> (
        outcome: Verification.Outcome, found: [Verification.Finding], repair: Verification.Repair?
    ) {
        var options = Verification.Options(
            from: Instant(milliseconds: Int64(Self.now - 3 * Self.day)),
            to: Instant(milliseconds: Int64(Self.now)))
        let service = FeedSource(TestCatalogue.service)
        options.service = try #require(EventService(service))
        options.service.limit = limit ?? options.service.limit
        var imports = Importer.Options.through(server)
        imports.retraction = retraction
        imports.now = { Instant(milliseconds: Int64(Self.now)) }
        return try await database.withConnection { [options, imports] connection in
            let verification = try await Verification(connection, options, imports: imports, logger: .quiet)
            let outcome = try await verification.run()
            let found = Mutex<[Verification.Finding]>([])
            try await verification.forEachFinding { finding in found.withLock { $0.append(finding) } }
            #expect(found.withLock { $0.count } == outcome.findings)
            guard repairs else { return (outcome, found.withLock(\.self), nil) }
            between()
            let repair = try await verification.repair(outcome)
            if let failure = repair.failure { throw failure }
            return (outcome, found.withLock(\.self), repair)
        }
    }

    @Test("A verification fails if the service dates its answers wrongly", arguments: [0, Self.now / 1000])
    func misdated(_ generated: Int) async throws {
        let catalogue = catalogue()
        try await server.withDatabase { database in
            let answer: @Sendable (TestRequest) -> TestFeedServer.Answer = {
                catalogue.answer($0).replacing(
                    "\"generated\":\(Self.now)", with: "\"generated\":\(generated)")
            }
            try await TestFeedServer.run(answering: answer) { server in
                let error = await #expect(throws: UnfitService.self) {
                    try await verify(database, through: server)
                }
                #expect(error?.reason.hasPrefix("it dates an answer of now 1970-01-") == true)
            }
        }
    }

    /// Statements that damage the table, and the kind of finding that results from each of them.
    private static let damages: [(statement: String, kind: Verification.Kind)] = [
        ("delete from quake where code = 'us1001'", .missing),
        ("update quake set code = 'xx1002' where code = 'us1002'", .missing),
        ("update quake set updated = updated - interval '1 hour' where code = 'us1003'", .older),
        ("update quake set updated = updated + interval '10 years' where code = 'us1004'", .newer),
        ("update quake set updated = updated + interval '1 hour' where code = 'us1005'", .newer),
        ("update quake set magnitude = 9 where code = 'us1006'", .different),
        ("update quake set place = null where code = 'us1007'", .different),
        ("update quake set time = time + interval '3 hours' where code = 'us1008'", .different),
        ("update quake set ids = '{}' where code = 'us1009'", .different),
        ("update quake set extra = '{\"a\": 1}' where code = 'us1010'", .different),
        (
            """
            insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
            select 'us9', 'us', '9', url, time + interval '1 minute', updated, 0, 0 from quake where code = 'us1011'
            """, .surplus
        ),
    ]

    @Test(
        "Every kind of damage is found and repaired, and none is left afterwards", arguments: [nil, 30])
    func damages(limit: Int?) async throws {
        try await withSweptCatalogue { catalogue, database, server in
            let whole = try await verify(database, through: server, limit: limit)
            #expect(whole.found == [] && whole.outcome.events == 100)
            let before = try await database.contents()
            for damage in Self.damages { try await database.query("\(unescaped: damage.statement)") }

            let found = try await verify(database, through: server, limit: limit).found
            let kinds = Dictionary(grouping: found, by: \.kind).mapValues(\.count)
            #expect(kinds == [.missing: 2, .older: 1, .newer: 2, .different: 5, .surplus: 2], "\(found)")
            #expect(Set(found.filter { $0.kind == .surplus }.map(\.code)) == ["us9", "xx1002"])

            let repaired = try await verify(database, through: server, repairs: true, limit: limit)
            #expect(repaired.repair?.counts.retracted == 2 && repaired.repair?.left == 0)
            #expect(try await verify(database, through: server, limit: limit).found == [])
            #expect(try await database.contents() == before)
        }
    }

    @Test(
        "Events that were revised in the last minutes, or are of other services or times, are not compared"
    )
    func notCompared() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await database.query(
                """
                insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                select 'xx' || n, 'xx', n, case when n = 1 then 'https://other.example/e' else url end,
                       time - interval '1 day' * (case when n = 2 then 9 else 0 end), updated, 0, 0
                from quake cross join generate_series(1, 2) as n where code = 'us1011'
                """)
            catalogue.change { state in
                state.events["us1001"]?.updated = state.now - Self.minute
                state.add(.init("us5", time: Self.now - Self.day, updated: state.now - Self.minute))
            }
            #expect(try await verify(database, through: server).found == [])
            catalogue.change { $0.now += Self.day }
            let found = try await verify(database, through: server).found
            #expect(found.map(\.kind) == [.older, .missing])
        }
    }

    @Test(
        "A version without a time of revision is older than one with such a time, and two without are only different"
    )
    func undated() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await database.query("update quake set updated = time where code = 'us1002'")
            catalogue.change { state in
                for code in ["us1001", "us1002"] {
                    let time = (state.events[code]?.time ?? 0) - 100
                    state.events[code]?.time = time
                    state.events[code]?.updated = time
                }
            }
            let repaired = try await verify(database, through: server, repairs: true)
            #expect(repaired.found.map(\.kind) == [.different])
            #expect(repaired.found.map(\.code) == ["us1002"] && repaired.repair?.left == 0)
            #expect(try await database.revised()["us1001"] == Self.now - Self.day)
        }
    }

    @Test("An answer with fewer events than it says ends the verification")
    func shortAnswer() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.geojson])
        catalogue.change { $0.add(.init("us1", time: Self.now - Self.day, updated: Self.now - Self.day)) }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: {
                catalogue.answer($0).replacing("\"count\":1", with: "\"count\":2")
            }) { server in
                await #expect(throws: ShortAnswer.self) { try await verify(database, through: server) }
            }
        }
    }

    @Test(
        "A service that counts all events, but gives only a few at once, is verified and repaired in small windows"
    )
    func cutAnswers() async throws {
        let catalogue = catalogue(8)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                guard request.uri.contains("query?"),
                    case .whole(let status, let body, _) = catalogue.answer(request),
                    var document = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
                    let features = document["features"] as? [Any]
                else { return catalogue.answer(request) }
                document["features"] = Array(features.prefix(5))
                document["metadata"] = ["generated": Self.now]
                let cut = try? JSONSerialization.data(withJSONObject: document)
                return .whole(status, Array(cut ?? Data()))
            }) { server in
                try await database.query(
                    """
                    insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                    values ('us9', 'us', '9', 'https://\(unescaped: TestCatalogue.host)/e',
                            to_timestamp(\(Self.now / 1000 - 20 * 3600)), to_timestamp(\(Self.now / 1000 - 19 * 3600)), 0, 0)
                    """)
                let repaired = try await verify(database, through: server, repairs: true, retraction: .force)
                #expect(repaired.found.count == 9)
                #expect(repaired.repair?.counts.inserted == 8 && repaired.repair?.counts.retracted == 1)
                #expect(repaired.repair?.left == 0)
            }
        }
    }

    @Test("If the brake stops the repair of one window, the other windows are repaired")
    func brakeOfOneWindow() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await database.query(
                """
                insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                select 'xx' || n, 'xx', n, url, time + interval '30 seconds' * n, updated, 0, 0
                from quake cross join generate_series(1, 100) as n where code = 'us1001'
                """)
            try await database.query("delete from quake where code = 'us1095'")
            await #expect(throws: BrakeHeld.self) {
                try await verify(database, through: server, repairs: true, limit: 30)
            }
            #expect(try await database.revised()["us1095"] != nil)
            #expect(try await database.revised().count == 200)
        }
    }

    @Test("If a service that does not count gives an empty document, nothing is deleted")
    func uncounted() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.geojson])
        catalogue.change { $0.add(.init("us1", time: Self.now - Self.day, updated: Self.now - Self.day)) }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                try await database.sweep(through: server)
                try await database.query("update quake set magnitude = 9")
                let repaired = try await verify(
                    database, through: server, repairs: true, retraction: .force,
                    between: { catalogue.change { $0.events = [:] } })
                #expect(repaired.repair?.left == 1)
                #expect(try await database.revised().count == 1)
            }
        }
    }

    @Test("An event with a very long id is rejected, and the others are compared")
    func longID() async throws {
        let catalogue = catalogue(3)
        // The id is random, because the server compresses long texts in an index.
        let long = (0..<150).map { _ in UUID().uuidString }.joined()
        catalogue.change { state in
            state.features["us1001"] = state.events["us1001"]?.json.replacing("us1001", with: long)
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                let (outcome, found, _) = try await verify(database, through: server)
                #expect(outcome.events == 3 && outcome.rejected == 1)
                #expect(found.map(\.code) == ["us1000", "us1002"])
            }
        }
    }

    @Test("The brake also stops a repair that would delete too many events")
    func brake() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            catalogue.change { state in for number in 0..<40 { state.events["us\(1000 + number)"] = nil }
            }
            await #expect(throws: BrakeHeld.self) {
                try await verify(database, through: server, repairs: true)
            }
            #expect(try await database.revised().count == 100)
            let forced = try await verify(database, through: server, repairs: true, retraction: .force)
            #expect(forced.repair?.counts.retracted == 40)
        }
    }

    /// Gives three events later versions than the service has, and adds an event that the service does not have.
    private func damage(_ database: TestDatabase) async throws {
        try await database.query(
            "update quake set updated = updated + interval '1 hour', magnitude = 9 where code in ('us1003', 'us1004', 'us1005')"
        )
        try await database.query(
            """
            insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
            select 'us9', 'us', '9', url, time + interval '1 minute', updated, 0, 0 from quake where code = 'us1011'
            """)
    }

    @Test("A repair replaces later versions and deletes surplus events in one transaction, and counts both")
    func oneTransaction() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            let before = try await database.contents()
            try await damage(database)
            let token = try await database.query("select history.current_token() as token")[0]
                .decode("token", as: Int.self)
            _ = try await verify(database, through: server, repairs: true)
            #expect(try await database.contents() == before)
            let changes = try await database.query(
                """
                select count(distinct t.token) as transactions, count(*) filter (where operation = 'update') as updates,
                       count(*) filter (where operation = 'delete') as deletions,
                       array_agg(distinct reason order by reason) as reasons
                from history.change c join history.transaction t on t.id = c.transaction where t.token > \(token)
                """)[0]
            #expect(try changes.decode("transactions") == 1)
            #expect(try changes.decode("updates") == 3 && changes.decode("deletions") == 1)
            let reasons = try changes.decode("reasons", as: [String].self)
            #expect(reasons.first == "corrected by \(TestCatalogue.host)", "\(reasons)")
            let run = try await database.query(
                "select seen, updated, unchanged, retracted from import.run where source ~ '^verify' order by id desc limit 1"
            )[0]
            #expect(try run.decode("seen") == 100 && run.decode("updated") == 3)
            #expect(try run.decode("unchanged") == 97 && run.decode("retracted") == 1)
        }
    }

    @Test(
        "A repair that gets no answer changes no row, and fails or reports what it did not repair",
        arguments: [
            .whole(.serviceUnavailable, []), .whole(.noContent, []), .cutOff(Array("{".utf8), promised: 99),
        ] as [TestFeedServer.Answer])
    func noAnswer(_ answer: TestFeedServer.Answer) async throws {
        let catalogue = catalogue()
        let isAway = Atomic(false)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: {
                isAway.load(ordering: .relaxed) ? answer : catalogue.answer($0)
            }) { server in
                try await database.sweep(through: server)
                try await damage(database)
                let before = try await database.contents()
                let repaired = await Result {
                    try await verify(database, through: server, repairs: true) {
                        isAway.store(true, ordering: .relaxed)
                    }.repair
                }
                if case .success(let repair) = repaired { #expect(repair?.left == 4) }
                #expect(try await database.contents() == before)
            }
        }
    }

    @Test("An event that the table refuses is not repaired")
    func refused() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await database.execute(
                "delete from quake where code = 'us1050'; alter table quake add check (code <> 'us1050')")
            let repaired = try await verify(database, through: server, repairs: true)
            #expect(repaired.repair?.codes == ["us1050"])
        }
    }

    @Test(
        "An event that a trigger keeps as it is counts as not repaired, even if another event of the window is repaired"
    )
    func keptByTrigger() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await database.execute(
                """
                update quake set magnitude = 9 where code in ('us1050', 'us1051');
                create function keep() returns trigger language plpgsql as $$ begin return null; end $$;
                create trigger keep before update on quake for each row when (old.code = 'us1050') execute function keep()
                """)
            let repaired = try await verify(database, through: server, repairs: true)
            #expect(repaired.repair?.codes.contains("us1050") == true)
        }
    }

    @Test("With --retract never, later versions and surplus events stay and are named")
    func never() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await damage(database)
            let before = try await database.contents()
            let repaired = try await verify(database, through: server, repairs: true, retraction: .never)
            #expect(repaired.repair?.codes == ["us1003", "us1004", "us1005", "us9"])
            #expect(try await database.contents() == before)
        }
    }

    @Test("The brake also stops a repair that would replace too many later versions by earlier ones")
    func brakeOfVersions() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            try await damage(database)
            try await database.query(
                "update quake set updated = updated + interval '1 hour' where code between 'us1020' and 'us1027'"
            )
            let before = try await database.contents()
            await #expect {
                try await verify(database, through: server, repairs: true)
            } throws: {
                "\($0)".contains("has earlier versions of 11 of the 100 events in its window")
            }
            #expect(try await database.contents() == before)
            let forced = try await verify(database, through: server, repairs: true, retraction: .force)
            #expect(forced.repair?.counts.updated == 11 && forced.repair?.counts.retracted == 1)
            #expect(try await verify(database, through: server).found == [])
        }
    }

    @Test("Surplus events are deleted, even near the ends of windows")
    func ends() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            let before = try await database.contents()
            try await database.query(
                """
                insert into quake (code, net, net_code, url, time, updated, longitude, latitude)
                select 'xx' || n, 'xx', n, url, time + interval '30 seconds' * n, updated, 0, 0
                from quake cross join generate_series(1, 2000) as n where code = 'us1000'
                """)
            let repaired = try await verify(
                database, through: server, repairs: true, limit: 30, retraction: .force)
            #expect(repaired.repair?.counts.retracted == 2000 && repaired.repair?.left == 0)
            #expect(try await database.contents() == before)
        }
    }

    @Test("If a service counts no events, the brake holds, and force deletes the events in the table")
    func nothingThere() async throws {
        try await withSweptCatalogue { catalogue, database, server in
            catalogue.change { $0.events = [:] }
            await #expect(throws: BrakeHeld.self) {
                try await verify(database, through: server, repairs: true)
            }
            #expect(try await database.revised().count == 100)
            let forced = try await verify(database, through: server, repairs: true, retraction: .force)
            #expect(forced.repair?.counts.retracted == 100 && forced.repair?.left == 0)
        }
    }

    @Test("An answer without content deletes nothing, and the repair names some of the events that are left")
    func noContent() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.text])
        catalogue.change { state in
            for number in 0..<50 {
                let time = Self.now - 2 * Self.day + number * 10 * Self.minute
                state.add(.init("us\(1000 + number)", time: time, updated: time))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                try await database.sweep(through: server)
                let codes = try await database.revised().keys.sorted()
                #expect(codes.count == 50)
                catalogue.change { $0.events = [:] }
                let repaired = try await verify(
                    database, through: server, repairs: true, limit: 30, retraction: .force)
                #expect(repaired.repair?.counts == ImportCounts())
                #expect(repaired.repair?.left == 50)
                let named = repaired.repair?.codes ?? []
                #expect(named.count == 20 && Set(named).isSubset(of: codes))
            }
        }
    }

    @Test("A verification fails and repairs nothing if the service sends fewer events than it counts")
    func short() async throws {
        let catalogue = catalogue()
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                request.uri.contains("/count?") ? .whole(.ok, Array("120".utf8)) : catalogue.answer(request)
            }) { server in
                await #expect(throws: ShortAnswer.self) {
                    try await verify(database, through: server, repairs: true)
                }
                let rows = try await database.revised()
                #expect(rows.isEmpty)
            }
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension TestDatabase {
    /// All rows of the table, without the time of their import.
    fileprivate func contents() async throws -> String {
        try await query(
            "select md5(string_agg((to_jsonb(quake) - 'imported_at')::text, ',' order by code)) as rows from quake"
        )[0]
        .decode("rows")
    }
}
