import Foundation
import Glibc
import TestSupport
import Testing

@Suite("quakes associate")
struct AssociateCommandTests {
    let server = TestServer.shared

    /// Two earthquakes that two agencies report, and one that only a third agency reports.
    private static let rows = """
        insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, depth, place) values
            ('us1', 'us', '', 5, '2020-01-01 00:00:00+00', '2020-01-01+00', 10, 40, 10, 'A'),
            ('gfz:1', 'gfz', '', 5.1, '2020-01-01 00:00:02+00', '2020-01-01+00', 10.1, 40, 10, 'A'),
            ('us2', 'us', '', 4, '2020-01-01 00:10:00+00', '2020-01-01+00', 10, 40, 10, 'B'),
            ('gfz:2', 'gfz', '', 4.1, '2020-01-01 00:10:02+00', '2020-01-01+00', 10.1, 40, 10, 'B'),
            ('emsc:3', 'emsc', '', 3, '2020-01-01 00:20:00+00', '2020-01-01+00', 10, 40, 10, 'C')
        """

    private func withRows(_ body: (TestDatabase, QuakesCommand, URL) async throws -> Void) async throws {
        try await withDatabase { database, folder in
            try await database.execute(Self.rows)
            try await body(database, QuakesCommand(["DATABASE_URL": database.url]), folder)
        }
    }

    private func withDatabase(_ body: (TestDatabase, URL) async throws -> Void) async throws {
        try await withFolder { folder in
            try await server.withDatabase { database in try await body(database, folder) }
        }
    }

    private func groups(_ database: TestDatabase) async throws -> [String] {
        try await database.query(
            """
            select string_agg(code, ' ' order by code) as codes from earthquake_member group by earthquake order by 1
            """
        ).map { try $0.decode("codes") }
    }

    @Test("A run groups all events and prints the counts; a second run changes nothing")
    func once() async throws {
        try await withRows { database, quakes, _ in
            let first = try await quakes.run("associate")
            #expect(first.output == "6 rows written: 2 earthquakes of several events, 0 doubtful events\n")
            #expect(first.errors.contains("first start: all rows were associated again"))
            #expect(try await groups(database) == ["gfz:1 us1", "gfz:2 us2"])
            let second = try await quakes.run("associate")
            #expect(second.output.hasPrefix("nothing has changed: 2 earthquakes"))
            let third = try await quakes.run("associate", "--rebuild")
            #expect(third.output.hasPrefix("nothing has changed"))
            #expect([first, second, third].map(\.status) == [0, 0, 0])
        }
    }

    @Test(
        "A single run ends the lag of an associator that followed earlier, also after it has written groups")
    func lag() async throws {
        try await withRows { database, quakes, _ in
            func behind() async throws -> [Int] {
                try await database.query("select tokens_behind from report.reader_lag").map {
                    try $0.decode("tokens_behind")
                }
            }
            #expect(try await quakes.run("associate").status == 0)
            #expect(try await behind() == [])
            try await database.query("select history.report('associate', 0)")
            #expect(try await quakes.run("associate", "--different", "us1", "gfz:1").status == 0)
            #expect(try await groups(database) == ["gfz:2 us2"])
            #expect(try await behind() == [0])
        }
    }

    @Test("If the groups can't follow a decision at once, the command says that the decision is stored")
    func storedOnly() async throws {
        try await withRows { database, quakes, _ in
            #expect(try await quakes.run("migrate", "--roles").status == 0)
            try await database.execute("create role worker login; grant quakes_writer to worker")
            let url = database.url.replacing(/user=[^&]*/, with: "user=worker")
            let outcome = try await QuakesCommand(["DATABASE_URL": url]).run("associate", "--prefer", "gfz:1")
            #expect(outcome.status == 69)
            #expect(
                outcome.errors.contains(
                    "nothing was associated, but your decisions are stored; the next association applies them"
                ))
            #expect(try await database.query("select from association_override").count == 1)
        }
    }

    @Test("--follow continues until SIGTERM, and then exits with 0")
    func follows() async throws {
        try await withRows { database, quakes, _ in
            let status = try await quakes.run(["associate", "--follow"]) { process in
                try await waitUntil { try await groups(database).count == 2 }
                try await database.execute(
                    "update quake set time = time + interval '20 minutes' where code = 'gfz:1'")
                try await waitUntil { try await groups(database) == ["gfz:2 us2"] }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
    }

    @Test("After a SIGKILL, the next run completes the groups")
    func killed() async throws {
        try await withRows { database, quakes, _ in
            for round in 0..<4 {
                let status = try await quakes.run(["associate", "--follow"]) { process in
                    try await waitUntil { try await groups(database).contains("gfz:2 us2") }
                    try await database.execute(
                        "update quake set time = time + interval '\(round % 2 == 0 ? 20 : -20) minutes' where code = 'gfz:1'"
                    )
                    // The process is killed at some point of the pass that this change causes.
                    try await Task.sleep(for: .milliseconds(round * 3))
                    kill(process, SIGKILL)
                }
                #expect(status == 137)
            }
            #expect(try await quakes.run("associate").status == 0)
            #expect(try await groups(database) == ["gfz:1 us1", "gfz:2 us2"])
            #expect(try await quakes.run("associate", "--rebuild").output.hasPrefix("nothing has changed"))
        }
    }

    @Test(
        "A person's decision about two events is stored with its reason, affects the groups, and can be withdrawn"
    )
    func word() async throws {
        try await withRows { database, quakes, _ in
            let different = try await quakes.run(
                "associate", "--different", "us1", "gfz:1", "--reason", "two of them")
            #expect(different.status == 0)
            #expect(try await groups(database) == ["gfz:2 us2"])
            let far = try await quakes.run("associate", "--same", "us1", "emsc:3")
            #expect(far.status == 0)
            #expect(far.errors.contains("are said to be the same earthquake, but are 0 km and 1200 s apart"))
            #expect(try await groups(database) == ["emsc:3 us1", "gfz:2 us2"])
            let reason = try await database.query(
                "select reason from association_override where verdict = 'different'")
            #expect(try reason[0].decode("reason", as: String.self) == "two of them")

            #expect(try await quakes.run("associate", "--take-back", "gfz:1", "us1").status == 0)
            #expect(try await quakes.run("associate", "--take-back", "us1", "emsc:3").status == 0)
            #expect(try await groups(database) == ["gfz:1 us1", "gfz:2 us2"])
            let nothing = try await quakes.run("associate", "--take-back", "us1", "emsc:3")
            #expect(
                nothing.status == 66 && nothing.errors.contains("there is no decision about us1 and emsc:3"))
            #expect(try await quakes.run("associate", "--prefer", "gfz:1").status == 0)
            let preferred = try await database.query(
                "select preferred from earthquake where preferred like 'gfz:%'")
            #expect(try preferred.map { try $0.decode("preferred", as: String.self) } == ["gfz:1"])
        }
    }

    @Test(
        "--why explains an event's group as text or as JSON, and --doubtful prints nothing if no event is doubtful"
    )
    func questions() async throws {
        try await withRows { database, quakes, _ in
            _ = try await quakes.run("associate")
            let why = try await quakes.run("associate", "--why", "us1")
            #expect(
                why.lines.first
                    == "earthquake \(try await code(of: "us1", database)) of gfz:1, us1; us1 is shown, with the magnitude of us1"
            )
            #expect(why.output.contains("joined"))
            let json = try await quakes.run("associate", "--why", "us1", "--format", "ndjson")
            #expect(json.lines.count == 1)
            #expect(
                json.output.contains("\"rule\":\"pair\"") && json.output.contains("\"outcome\":\"joined\""))
            #expect(
                try await quakes.run("associate", "--why", "emsc:3").lines == [
                    "emsc:3 is an earthquake by itself"
                ])
            #expect(try await quakes.run("associate", "--doubtful", "--format", "ndjson").output == "")
            #expect(try await quakes.run("associate", "--why", "us7").status == 66)
        }
    }

    private func code(of member: String, _ database: TestDatabase) async throws -> String {
        try await database.query("select earthquake from earthquake_member where code = \(member)")[0]
            .decode("earthquake")
    }

    @Test("--parameters accepts the output of --fit, and `shipped` restores the original parameters")
    func parameters() async throws {
        try await withRows { database, quakes, folder in
            _ = try await quakes.run("associate")
            let file = folder.appending(path: "parameters.txt")
            let fit = try await quakes.run("associate", "--fit")
            try fit.output.replacing(/seconds +20/, with: "seconds 1").write(
                to: file, atomically: true, encoding: .utf8)
            let used = try await quakes.run("associate", "--parameters", file.path)
            #expect(used.status == 0 && used.errors.contains("the parameters have changed"))
            #expect(try await groups(database) == [])
            #expect(try await quakes.run("associate", "--parameters", "shipped").status == 0)
            #expect(try await groups(database).count == 2)

            try "seconds many".write(to: file, atomically: true, encoding: .utf8)
            let wrong = try await quakes.run("associate", "--parameters", file.path)
            #expect(wrong.status == 65 && wrong.errors.contains("parameters, line 1: seconds takes a number"))
            #expect(try await quakes.run("associate", "--parameters", file.path + "x").status == 66)
            let directory = try await quakes.run("associate", "--parameters", folder.path)
            #expect(directory.status == 74)
            #expect(directory.errors == "quakes: cannot read \(folder.path): Is a directory\n")
        }
    }

    @Test(
        "Contradictory or incomplete options are wrong usage",
        arguments: [
            ["--same", "us1"], ["--same", "us1", "us1"], ["--different", "a", "b", "c"], ["--reason", "x"],
            ["--same", "a", "b", "--different", "a", "b"], ["--prefer", "a", "--take-back", "b"],
            ["--prefer", ""], ["--same", "a", ""],
            ["--why", "us1", "--rebuild"], ["--why", "us1", "--doubtful"], ["--take-back", "a", "b", "c"],
        ])
    func wrongUsage(_ arguments: [String]) async throws {
        let outcome = try await QuakesCommand(["DATABASE_URL": "postgresql://nowhere.invalid/x"])
            .run(["associate"] + arguments)
        #expect(outcome.status == 64, "\(arguments)")
    }

    // MARK: In a daemon

    @Test("A daemon associates once a second agency has events, but not with --no-associate")
    func daemon() async throws {
        try await withDatabase { database, folder in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let feed = folder.appending(path: "feed.geojson")
            try SmallFeed.document([SmallFeed.feature("a")]).write(
                to: feed, atomically: true, encoding: .utf8)
            let status = try await quakes.run(["import", feed.path, "--every", "0.1s"]) { process in
                try await waitUntil { try await database.query("select from quake").count == 1 }
                // The daemon notices another program's rows when the daemon itself imports the next new event.
                try await database.execute(Self.rows)
                try SmallFeed.document(["a", "b"].map { SmallFeed.feature($0) })
                    .write(to: feed, atomically: true, encoding: .utf8)
                try await waitUntil { try await groups(database) == ["gfz:1 us1", "gfz:2 us2"] }
                try await database.execute("delete from quake where code = 'gfz:2'")
                try await waitUntil { try await groups(database) == ["gfz:1 us1"] }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
            try await database.execute(
                "update quake set time = time + interval '20 minutes' where code = 'gfz:1'")
            let runs = try await database.query("select from import.run").count
            let other = try await quakes.run(["import", feed.path, "--every", "0.1s", "--no-associate"]) {
                process in
                try await waitUntil {
                    try await database.query("select from import.run").count > runs + 1
                }
                kill(process, SIGTERM)
            }
            #expect(other == 0)
            #expect(try await groups(database) == ["gfz:1 us1"])
        }
    }
}
