import Foundation
import QuakeStore
import TestSupport
import Testing

@Suite("quakes report")
struct ReportCommandTests {
    let server = TestServer.shared

    @Test("Without a name, the command lists every report")
    func list() async throws {
        try await server.withDatabase { database in
            let outcome = try await quakes(["report"], database)
            #expect(outcome.status == 0)
            let names = try await database.query(
                """
                select relname as name from pg_class where relnamespace = 'report'::regnamespace and relkind = 'v'
                union select proname from pg_proc where pronamespace = 'report'::regnamespace and proretset and proname <> 'counted'
                """)
            #expect(names.count >= 18)
            let listed = outcome.output.split(separator: "\n").dropFirst().map {
                String($0.split(separator: " ")[0])
            }
            #expect(try Set(listed) == Set(names.map { try $0.decode("name", as: String.self) }))
        }
    }

    @Test(
        "At a terminal of 80 columns, the list has the whole description of each report, on several lines if necessary"
    )
    func listAtTerminal() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1"])
            let shown = try await quakes.runAtTerminal(["report"]).output
            let lines = shown.split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= 80 })
            #expect(!shown.contains("…"))
            let words = shown.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(
                words.contains(
                    "aftershocks Earthquakes near an event and soon after it, without other agencies' events of the same earthquake. Takes mainshock,"
                ))
            #expect(
                words.contains("coverage Which origin times, magnitudes and areas were imported completely"))
        }
    }

    @Test("At a terminal of 80 columns, column titles wrap, and reports of events show the place")
    func placesAtTerminal() async throws {
        try await server.withDatabase { database in
            try await database.importSample(300)
            let quakes = QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1", "TERM": "dumb"])
            let largest = try await quakes.runAtTerminal(["report", "largest_event", "--limit", "9"]).output
            #expect(largest.contains("PLACE") && largest.contains("ORIGIN_TIME (UTC)"))
            let events = try await quakes.runAtTerminal(["report", "event", "--limit", "9"]).output
            #expect(events.contains("PLACE") && events.contains("DEPTH_") && !events.contains("LATITUDE"))
            for line in (largest + events).split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
            let wide = try await quakes.runAtTerminal(["report", "largest_event"], columns: 240).output
            #expect(wide.contains("MAGNITUDE_TYPE") && wide.contains("LATITUDE"))
        }
    }

    @Test("At a terminal of 80 columns, a comparison shows its differences, and sources are distinguishable")
    func whatTablesAreFor() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, depth, place, time, updated, longitude, latitude)
                values ('us7000abcd', 'us', '7000abcd', 5, 10, '100 km S of Somewhere Else, Far Away', '2026-01-01', now(), 0, 0),
                       ('gfz:gfz2026texh', 'gfz', 'gfz2026texh', 5.5, 17, null, '2026-01-01 00:00:02.25', now(), 0, 0.5)
                """)
            try await database.group(["us7000abcd", "gfz:gfz2026texh"])
            let summaries = ["all_hour", "all_day", "all_week"].map {
                "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\($0).geojson"
            }
            let services = ["earthquake.usgs.gov", "geofon.gfz.de"].map { "https://\($0)/fdsnws/event/1/" }
            for source in summaries + services {
                try await database.query(
                    "insert into import.run (source, outcome, finished) values (\(source), 'done', now())")
            }
            let quakes = QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1", "TERM": "dumb"])

            let compared = try await quakes.runAtTerminal([
                "report", "agency_comparison", "agency_1=usgs", "agency_2=gfz",
            ]).output
            let titles = compared.split(separator: "\n").dropLast().joined(separator: " ")
            for title in ["ORIGIN_TIME", "TIME_", "DISTANCE_", "DEPTH_", "MAGNITUDE_", "CODE_1"] {
                #expect(titles.contains(title), "\(compared)")
            }
            let row = compared.split(separator: "\n").last?.split(separator: " ").map(String.init) ?? []
            #expect(row == ["2026-01-01", "00:00:00", "us7000abcd", "2.25", "55.597", "7", "0.5"])

            let health = try await quakes.runAtTerminal(["report", "feed_health"]).output
            let shown = health.split(separator: "\n").suffix(5).map { $0.prefix { $0 != " " } }
            #expect(Set(shown).count == 5, "\(health)")
            #expect(shown.contains { $0.hasSuffix("/all_hour.geojson") }, "\(health)")
            for line in (compared + health).split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
    }

    @Test("An agency without events is refused, and an empty table is announced on standard error")
    func nothing() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            func compared(_ agency: String) async throws -> QuakesCommand.Outcome {
                try await quakes(
                    ["report", "agency_comparison", "agency_1=\(agency)", "agency_2=q0"], database)
            }
            for unknown in ["GFZ", "q1"] {
                let refused = try await compared(unknown)
                #expect(refused.status == 66 && refused.output == "", "\(unknown)")
                #expect(
                    refused.errors.contains(
                        "the catalogue has no events of the agency \(unknown), only of q0"))
            }
            let empty = try await compared("Q0")
            #expect(empty.status == 0 && empty.errors == "quakes: the report has no rows\n")
            let rejects = try await quakes(["rejects"], database)
            #expect(rejects.status == 0 && rejects.errors == "quakes: there are no rejects\n")
            let json = try await quakes(["rejects", "--format", "ndjson"], database)
            #expect(json.output == "" && json.errors == "")
            let changes = try await quakes(["changes", "--author", "nobody"], database)
            #expect(changes.status == 0 && changes.errors == "quakes: there are no such changes\n")
        }
    }

    @Test(
        "A report over several agencies warns that it counts earthquakes more than once, and suggests --merge"
    )
    func severalAgencies() async throws {
        try await server.withDatabase { database in
            let note =
                "an earthquake counts once for each agency that reports it; --merge counts each earthquake once"
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b", net: "q1")])
            #expect(!(try await quakes(["report", "daily_energy"], database).errors.contains(note)))
            try await database.importAgencies()
            for report in ["daily_energy", "gutenberg_richter"] {
                #expect(try await quakes(["report", report], database).errors.contains(note), "\(report)")
            }
            for quiet in [["event"], ["daily_energy", "--merge"], ["daily_energy", "agency=gfz"]] {
                #expect(!(try await quakes(["report"] + quiet, database).errors.contains(note)), "\(quiet)")
            }
        }
    }

    @Test(
        "--merge and --agency change which events are counted; an agency without events is an error")
    func mergedReports() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")
            let csv = ["--format", "csv"]
            func lines(_ arguments: String...) async throws -> [String] {
                let outcome = try await quakes(["report"] + arguments + csv, database)
                #expect(outcome.status == 0, "\(outcome.errors)")
                return outcome.output.split(separator: "\n").dropFirst().map(String.init)
            }
            #expect(try await lines("largest_event").count == 4)
            let merged = try await lines("largest_event", "--merge")
            #expect(merged.count == 2 && merged[0].hasPrefix("1,us1,") && merged[0].contains(",5.3,Mw,"))
            #expect(
                try await lines("largest_event", "merge=true", "rank=2").count == 1,
                "a column's value also limits the merged report")
            #expect(try await lines("largest_event", "--merge", "--agency", "EMSC") == [merged[0]])
            #expect(try await lines("largest_event", "agency=emsc").count == 1)
            #expect(try await lines("magnitude_frequency", "--agency", "usgs").count == 2)
            let unknown = try await quakes(["report", "daily_energy", "--agency", "usgz"], database)
            #expect(unknown.status == 66)
            #expect(
                unknown.errors.contains(
                    "no events of the agency usgz, only of emsc, gfz, usgs; did you mean usgs?"))
            let contributor = try await quakes(["report", "daily_energy", "--agency", "SCEDC"], database)
            #expect(contributor.status == 66)
            #expect(
                contributor.errors.contains(
                    "reports count the events of the agency SCEDC as the USGS's: use usgs"))
            try await database.query("delete from quake where net = 'us'")
            let none = try await quakes(["report", "daily_energy", "--agency", "usgs"], database)
            #expect(none.errors.contains("the catalogue has no events of the agency usgs, only of"))
            let useless = try await quakes(["report", "feed_health", "--merge"], database)
            #expect(useless.status == 64 && useless.errors.contains("feed_health has no merge"))
        }
    }

    @Test("A poor fit is reported, with a better value for completeness")
    func poorFit() async throws {
        try await server.withDatabase { database in
            // The catalogue looks like a mixture of two networks: 2000 events of at least magnitude 1, and 1000 events of at
            // least magnitude 4.
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'q' || n, 'q', '', case when n <= 2000 then 1 else 4 end - 0.05 - log((n % 1000 + 0.5) / 1000),
                       now(), now(), 0, 0 from generate_series(1, 3000) as n
                """)
            let poor = try await quakes(["report", "gutenberg_richter"], database)
            #expect(poor.status == 0)
            #expect(poor.errors.hasPrefix("quakes: the fit is poor from M 1 on (goodness "), "\(poor.errors)")
            #expect(poor.errors.hasSuffix(", or give completeness=4\n"), "\(poor.errors)")
            let good = try await quakes(["report", "gutenberg_richter", "completeness=4"], database)
            #expect(good.status == 0 && good.errors == "")
            let plot = try await quakes(["plot", "magnitudes"], database)
            #expect(plot.errors.contains("poor fit") && plot.errors.contains("--completeness 4.0"))
        }
    }

    @Test(
        "JSON has arrays and objects as they are, and numbers have all digits whatever the database's settings are"
    )
    func values() async throws {
        try await server.withDatabase { database in
            try await database.execute(
                """
                create view report.mine as
                select array['a', 'b'] as letters, jsonb_build_object('n', 1) as more, 0.1::double precision + 0.2 as sum,
                       1.1::numeric(10, 2) as amount, timestamptz 'infinity' as "end", timestamptz '2026-01-02 03:04+00' as time;
                do $$ begin execute format('alter database %I set extra_float_digits = -5', current_database()); end $$
                """)

            let json = try await quakes(["report", "mine", "--format", "json"], database)
            let csv = try await quakes(["report", "mine", "--format", "csv"], database)

            #expect(
                json.output.contains(
                    #"{"letters":["a","b"],"more":{"n": 1},"sum":0.30000000000000004,"amount":1.1,"end":"infinity","time":"2026-01-02T03:04:00.000Z"}"#
                ),
                "\(json)")
            #expect(
                csv.output.hasSuffix(
                    "\"{a,b}\",\"{\"\"n\"\": 1}\",0.30000000000000004,1.10,infinity,2026-01-02T03:04:00.000Z\n"
                ), "\(csv)")
        }
    }

    @Test("A view that the owner added is a report even without a comment; a view without columns is not")
    func added() async throws {
        try await server.withDatabase { database in
            try await database.query(
                "create view report.\"My \"\"events\"\"\" as select code as \"Größe\", magnitude from quake")
            try await database.query("create view report.empty as select")
            try await database.query(
                "create function report.numbers() returns setof integer language sql return generate_series(1, 3)"
            )
            try await database.importSample(3)

            let listed = try await quakes(["report"], database)
            let own = try await quakes(["report", "My \"events\"", "--format", "csv"], database)

            #expect(listed.status == 0 && listed.output.contains("My \"events\""))
            #expect(!listed.output.contains("numbers") && !listed.output.contains("empty"))
            #expect(own.status == 0 && own.output.split(separator: "\n").count == 4, "\(own)")
            #expect(own.output.hasPrefix("Größe,magnitude\n"))
        }
    }

    @Test("A table, CSV and JSON have the same rows")
    func formats() async throws {
        try await server.withDatabase { database in
            try await database.importSample(500)
            let arguments = ["report", "event", "network=q1", "--limit", "7"]

            let table = try await quakes(arguments, database).output.split(separator: "\n")
            let csv = try await quakes(arguments + ["--format", "csv"], database).output.split(
                separator: "\n")
            let json = try await quakes(arguments + ["--format", "json"], database).output
            let objects = try #require(
                JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])

            #expect(table.count == 8 && csv.count == 8 && objects.count == 7)
            #expect(csv[0].hasPrefix("origin_time,code,latitude,longitude,depth_km,magnitude,"))
            for (line, object) in zip(csv.dropFirst(), objects) {
                let fields = line.split(separator: ",", omittingEmptySubsequences: false)
                #expect(object["network"] as? String == "q1")
                #expect(object["origin_time"] as? String == String(fields[0]))
                #expect(object["latitude"] as? Double == Double(fields[2]))
                #expect(object["is_earthquake"] as? Bool == (object["event_type"] as? String == "earthquake"))
            }
            #expect(objects.contains { $0["is_earthquake"] as? Bool == true })
            #expect(
                objects.map { $0["origin_time"] as? String ?? "" }
                    == objects.map { $0["origin_time"] as? String ?? "" }.sorted())
            let empty = try await quakes(["report", "event", "code=none", "--format", "json"], database)
            #expect(empty.output == "[]\n")
        }
    }

    @Test("Among equal magnitudes, the latest earthquake comes first, for any limit")
    func ranks() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'q' || day, 'q0', day, 8 - day % 3, '2020-01-01+00'::timestamptz + make_interval(days => day), now(), 0, 0
                from generate_series(1, 30) as day
                """)
            let rows = try await database.query("select code from report.largest_event")
            let codes = try rows.map { try $0.decode("code", as: String.self) }
            for limit in [1, 3, 10, 12, 29] {
                let outcome = try await quakes(
                    ["report", "largest_event", "--limit", "\(limit)", "--format", "csv"], database)
                let found = outcome.lines.dropFirst().map { "\($0.split(separator: ",")[1])" }
                #expect(found == codes.prefix(limit).map(\.self), "\(limit)")
            }
        }
    }

    @Test("At a terminal, the newest magnitudes of an event come first, and older ones are left out")
    func history() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            for magnitude in 2...9 {
                try await database.execute("update quake set magnitude = \(magnitude) where code = 'q0a'")
            }
            let quakes = QuakesCommand(["DATABASE_URL": database.url, "NO_COLOR": "1", "TERM": "dumb"])
            let outcome = try await quakes.runAtTerminal(
                ["report", "magnitude_history", "code=q0a", "--limit", "3"], columns: 240)
            let magnitudes = outcome.output.matches(of: #/q0a +(\d)/#).map { String($0.1) }
            #expect(magnitudes == ["9", "8", "7"], "\(outcome.output)")
        }
    }

    @Test("A condition on a column of a fixed length compares the whole value")
    func fixedLength() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query(
                "create view report.mine as select code::char(5) as c, b'101' as b from quake")
            for condition in ["c=q0a", "b=101"] {
                let outcome = try await quakes(["report", "mine", condition, "--format", "csv"], database)
                #expect(outcome.output.split(separator: "\n").count == 2, "\(condition)")
            }
        }
    }

    @Test("A column whose type is a domain is shown like its base type")
    func domains() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(SmallFeed.document([SmallFeed.feature("a")]))
            let outcome = try await quakes(["report", "import_run", "--format", "json"], database)
            let rows = try #require(
                try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [[String: Any]])
            #expect(rows.first?["seen"] as? Int == 1, "\(outcome.output)")
            #expect((rows.first?["started_at"] as? String)?.hasSuffix("Z") == true)
        }
    }

    @Test("A function takes its parameters by name, and times without a zone are UTC")
    func parameters() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                values ('a', 'q0', 'a', 3, '2020-01-01 00:30+00', now(), 0, 0), ('b', 'q0', 'b', 4, '2020-01-02 00:30+00', now(), 0, 0)
                """)
            let command = QuakesCommand(["PGTZ": "Asia/Tokyo"])
            let outcome = try await command.run(
                ["report", "magnitude_frequency", "since=2020-01-02", "until=2020-01-03", "--format", "csv"]
                    + ["--database", database.url])
            #expect(outcome.output == "magnitude,earthquakes,earthquakes_or_larger\n4,1,1\n")
            let day = try await command.run(
                ["report", "magnitude_frequency", "since=2020-01-01", "until=2020-01-01", "--format", "csv"]
                    + ["--database", database.url])
            #expect(day.output == "magnitude,earthquakes,earthquakes_or_larger\n3,1,1\n")
            let month = try await command.run(
                ["report", "magnitude_frequency", "since=2020-01", "until=1d", "--format", "csv"]
                    + ["--database", database.url])
            #expect(month.output == "magnitude,earthquakes,earthquakes_or_larger\n3,1,2\n4,1,1\n")
        }
    }

    @Test("Unknown reports and wrong arguments are wrong usage, and the error says what is allowed")
    func wrong() async throws {
        try await server.withDatabase { database in
            for (arguments, message) in [
                (["nothing"], "there is no report nothing; the reports are aftershock_rate, aftershocks,"),
                (["aftershocks"], "aftershocks needs mainshock=VALUE"),
                (["event", "size=3"], "event has no size; it has origin_time, code,"),
                (["event", "magnitude=big"], "invalid input syntax for type double precision"),
                (["event", "magnitude=big"], "; given: magnitude=big"),
                (["event", "magnitude"], "magnitude is not of the form NAME=VALUE"),
                (["event", "--limit=-1"], "--limit must not be negative"),
                (["event; drop table quake"], "there is no report"),
            ] {
                let outcome = try await quakes(["report"] + arguments, database)
                #expect(outcome.status == 64)
                #expect(outcome.errors.contains(message), "\(outcome.errors)")
            }
        }
    }

    @Test("Incomplete or contradictory arguments of a report are wrong usage, and the error gives the reason")
    func half() async throws {
        try await server.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                values ('a', 'q0', 'a', null, now(), now(), 0, 0)
                """)
            let circle = "latitude, longitude and radius_km make a circle together: give all of them or none"
            for (arguments, message) in [
                (["gutenberg_richter", "latitude=35"], circle),
                (["gutenberg_richter", "latitude=35", "longitude=-117", "completeness=2"], circle),
                (["magnitude_frequency", "radius_km=100"], circle),
                (
                    ["magnitude_frequency", "since=2020-01-03", "until=2020-01-01"],
                    "until is earlier than since"
                ),
                (["aftershocks", "mainshock=a"], "a has no magnitude: give radius_km=VALUE and days=VALUE"),
                (["aftershock_rate", "mainshock=a", "radius_km=5"], "a has no magnitude: give days=VALUE"),
                (["aftershocks", "mainshock=a", "radius_km=nan", "days=1"], "radius_km is not a distance"),
                (["event", "network=us", "network=ci"], "network is given twice"),
            ] {
                let outcome = try await quakes(["report"] + arguments, database)
                #expect(outcome.status == 64, "\(arguments)")
                #expect(outcome.output == "" && outcome.errors.contains(message), "\(outcome.errors)")
            }
            let whole = ["aftershocks", "mainshock=a", "radius_km=5", "days=1", "--format", "json"]
            #expect(try await quakes(["report"] + whole, database).output == "[]\n")
        }
    }

    // MARK: Roles

    @Test("A second quakes migrate --roles creates no role, and says that the roles have their privileges")
    func migrateRoles() async throws {
        try await server.withRoles { made in
            let prefix = made.roles.prefix
            let again = try await quakes(["migrate", "--roles", "--role-prefix", prefix], made.database)
            #expect(again.status == 0)
            #expect(!again.output.contains("created:"))
            #expect(
                again.output.contains("the roles have their privileges: \(prefix)owner, \(prefix)writer,"))
            let owner = try await quakes(["migrate", "--roles", "--role-prefix", prefix], made.login(.owner))
            #expect(owner.status == 0, "\(owner.errors)")
            for bad in ["Q", "a b", "pg_x"] {
                #expect(
                    try await quakes(["migrate", "--roles", "--role-prefix", bad], made.database).status == 64
                )
            }
        }
    }

    @Test(
        "The writer role is enough for the worker, the reader role for a follower, and the report role for a report"
    )
    func commands() async throws {
        try await server.withRoles { roles in
            let (writer, reader) = (roles.login(.writer), roles.login(.reader))
            let service = TestEventService(count: 100, limit: 30)
            try await TestFeedServer.run(answering: service.answer) { http in
                let backfill = try await quakes(
                    [
                        "backfill", "--service", http.url("/fdsnws/event/1"), "--pace", "0s", "--per-request",
                        "30",
                    ]
                        + service.stretch, writer)
                #expect(backfill.status == 0, "\(backfill.errors)")
            }
            let feed = SmallFeed.document([
                SmallFeed.feature("x"), SmallFeed.feature("y", magnitude: "\"one\""),
            ])
            for _ in 1...2 {
                let run = try await quakes(["import", "-"], writer, input: feed)
                #expect(run.status == 0, "\(run.errors)")
            }
            try await TestFeedServer.run(script: [
                .whole(.ok, Array(feed.utf8)), .whole(.ok, Array(feed.utf8)),
            ]) { http in
                for _ in 1...2 {
                    let run = try await quakes(["import", http.url("/feed")], writer)
                    #expect(run.status == 0, "\(run.errors)")
                }
            }
            #expect(try await quakes(["import", "-", "--dry-run"], writer, input: feed).status == 0)
            #expect(try await quakes(["delete", "q0x"], writer).status == 0)

            try await withFolder { folder in
                let follow = [
                    "follow", "--once", "--name", "r", "--view", folder.appending(path: "v.sqlite").path,
                ]
                for arguments in [
                    follow, ["list"], ["list", "--as-of", "1"], ["changes"], ["status"], ["rejects"],
                    ["rejects", "1"],
                    ["follow", "--format", "ndjson", "--once"],
                ] {
                    let outcome = try await quakes(arguments, reader)
                    #expect(
                        outcome.status == 0 && !outcome.errors.contains("warning"),
                        "\(arguments) \(outcome.errors)")
                }
            }
            #expect(try await quakes(["status"], reader).output.contains("r "))
            #expect(
                try await quakes(["report", "reject"], roles.login(.report)).output.contains("mag: expected"))
            #expect(try await quakes(["prune", "--keep", "0s"], roles.login(.owner)).status == 0)
        }
    }

    /// Commands that are refused: the purpose of the login's role, the command's arguments, and the role that the login lacks.
    private static let refused: [(Roles.Purpose, [String], String)] = [
        (.report, ["list"], "reader"), (.report, ["status"], "reader"),
        (.report, ["follow", "--format", "ndjson", "--once"], "reader"),
        (.report, ["import", "/dev/null"], "writer"), (.reader, ["import", "/dev/null"], "writer"),
        (.reader, ["delete", "q0a"], "writer"), (.reader, ["report", "event"], "report"),
        (.writer, ["changes"], "reader"), (.reader, ["associate"], "writer"),
        (.writer, ["associate"], "reader"), (.writer, ["prune", "--keep", "1d"], "owner"),
    ]

    @Test("If a login is refused, the error says which role to grant to it")
    func refused() async throws {
        try await server.withRoles { roles in
            for (purpose, arguments, missing) in Self.refused {
                let outcome = try await quakes(arguments, roles.login(purpose))
                let login = roles.loginName(purpose)
                #expect(outcome.status == 69)
                #expect(outcome.errors.contains("SQLSTATE 42501"), "\(outcome.errors)")
                #expect(
                    outcome.errors.contains(
                        "\(login) lacks a role: grant \(roles.roles.prefix)\(missing) to \(login)"),
                    "\(outcome.errors)")
            }
        }
    }

    @Test("Even for a login that may not connect, the error says which role to grant")
    func mayNotConnect() async throws {
        try await server.withRoles { roles in
            let outcome = try await quakes(["list"], roles.login(nil))
            #expect(outcome.status == 69)
            #expect(
                outcome.errors.contains("grant quakes_reader to \(roles.loginName(nil))"), "\(outcome.errors)"
            )
        }
    }

    private func quakes(
        _ arguments: [String], _ database: TestDatabase, input: String = ""
    ) async throws -> QuakesCommand.Outcome {
        try await QuakesCommand().run(arguments + ["--database", database.url], input: input)
    }
}
