import Foundation
import FoundationXML
import TestSupport
import Testing

@Suite("quakes map and quakes plot")
struct PictureCommandTests {
    @Test("Maps and plots show the selected events as SVG")
    func svg() async throws {
        try await withSample { quakes in
            let listed = try await quakes.run("list", "--min-magnitude", "4", "--format", "ndjson")
            let count = listed.output.split(separator: "\n").count
            for command in [
                ["map"], ["map", "--fit"], ["plot", "time"], ["plot", "magnitudes"], ["plot", "cumulative"],
                ["plot", "depths"],
            ] {
                let outcome = try await quakes.run(
                    command + ["--min-magnitude", "4", "--title", "<One> & two"])

                #expect(outcome.status == 0, "\(command): \(outcome.errors)")
                let isPoorFit = command.last == "magnitudes" && outcome.errors.contains("poor fit")
                #expect(outcome.errors == "" || isPoorFit, "\(command)")
                #expect(XMLParser(data: Data(outcome.output.utf8)).parse(), "\(command)")
                #expect(outcome.output.contains("&lt;One&gt; &amp; two"), "\(command)")
                #expect(outcome.output.contains("Selection: magnitude ≥ 4.0."), "\(command)")
                #expect(count > 1 && outcome.output.contains(">\(count) events from "), "\(command)")
            }
        }
    }

    @Test("A picture of selected networks or agencies names them")
    func sources() async throws {
        try await withSample { quakes in
            let listed = try await quakes.run("list", "--net", "q1,q2", "--format", "ndjson")
            let count = listed.output.split(separator: "\n").count
            let outcome = try await quakes.run("plot", "time", "--net", "q1,q2")
            #expect(outcome.output.contains("events, network q1 or q2"))
            #expect(outcome.output.contains("Selection: network q1 or q2."))
            #expect(count > 1 && outcome.output.contains(">\(count) events from "))
            let none = try await quakes.run("map", "--agency", "gfz,emsc")
            #expect(
                none.output.contains("Selection: GFZ or EMSC.")
                    && none.output.contains("No earthquakes match."))
        }
    }

    @Test("A title speaks of earthquakes only if the picture shows no other events")
    func title() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("update quake set type = 'quarry blast' where code = 'q0b'")
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for (command, title) in [
                (["map"], "<title>Events, "), (["plot", "depths"], "<title>Depths: events, "),
                (["plot", "magnitudes"], "distribution: earthquakes, "),
                (["map", "--code", "q0a"], "<title>Earthquakes, "),
                (["map", "--type", "quarry blast"], "<title>Quarry blast events, "),
            ] {
                let picture = try await quakes.run(command).output
                #expect(picture.contains(title), "\(command): \(picture.prefix(300))")
            }
        }
    }

    @Test("A picture of several agencies names the agencies and periods that the catalogue does not hold")
    func coverage() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, url)
                values ('us1', 'us', '1', 5, '2020-01-02', now(), 0, 0, 'https://earthquake.usgs.gov/us1'),
                       ('us2', 'us', '2', 5, '2020-01-20', now(), 0, 0, 'https://earthquake.usgs.gov/us2'),
                       ('gfz:a', 'gfz', 'a', 5, '2020-01-10', now(), 0, 0, 'https://geofon.gfz.de/eqinfo/event.php?id=a')
                """)
            try await database.query(
                """
                select import.note_coverage('earthquake.usgs.gov', null, '[2020-01-01+00,2020-01-21+00)'),
                       import.note_coverage('geofon.gfz.de', null, '[2020-01-05+00,2020-01-15+00)')
                """)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let both = try await quakes.run("plot", "time").output
            #expect(
                both.contains(
                    "Not held by the catalogue for GFZ: 2 Jan 2020 – 5 Jan 2020; 15 Jan 2020 – 20 Jan 2020."))
            #expect(!both.contains("Not held by the catalogue for USGS"))
            #expect(try await !quakes.run("map", "--agency", "usgs").output.contains("Not held"))
            let emsc = try await quakes.run("plot", "time", "--agency", "usgs,emsc").output
            #expect(emsc.contains("The catalogue is not complete for EMSC in any period."))
            try await database.query("delete from import.coverage where service = 'geofon.gfz.de'")
            let map = try await quakes.run("map").output
            #expect(map.contains("The catalogue is not complete for GFZ in any period."))
        }
    }

    @Test(
        "A picture warns that agencies may repeat an earthquake, and with --merge it shows each earthquake once"
    )
    func merged() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"])
            let note = "Events of 3 agencies: earthquakes may be counted more than once"
            for command in [["map"], ["plot", "time"], ["plot", "cumulative"], ["plot", "depths"]] {
                let all = try await quakes.run(command).output
                #expect(all.contains(note) && all.contains(">5 events from "), "\(command)")
                let merged = try await quakes.run(command + ["--merge"]).output
                #expect(!merged.contains(note) && merged.contains(">3 events from "), "\(command)")
                #expect(merged.contains("Selection: each earthquake once."), "\(command)")
                let one = try await quakes.run(command + ["--agency", "emsc"]).output
                #expect(!one.contains(note) && one.contains(">2 events from "), "\(command)")
            }
        }
    }

    @Test("With --mechanisms, a map draws each known mechanism as a beachball, and gives their number")
    func mechanisms() async throws {
        try await TestServer.shared.withDatabase { database in
            // The last two mechanisms cannot be drawn.
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, extra)
                select 'q' || n, 'q', n, 6, now(), now(), 20 * n, 0, extra::jsonb
                from (values (1, '{"focal_mechanism": {"strike1": 10, "dip1": 45, "rake1": 90}}'),
                             (2, '{"focal_mechanism": {"strike2": 10, "dip2": 45, "rake2": -90, "mrr": 1}}'),
                             (3, '{"focal_mechanism": {"mrr": 0, "mtt": 1e18, "mpp": -1e18, "mrt": 0, "mrp": 0, "mtp": 0}}'),
                             (4, '{"focal_mechanism": {"strike1": "north", "dip1": 45, "rake1": 90}}'),
                             (5, '{"focal_mechanism": "reverse"}')) as event (n, extra)
                """)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let plain = try await quakes.run("map").output
            #expect(!plain.contains("class=\"ball") && !plain.contains("mechanisms"))
            let drawn = try await quakes.run("map", "--mechanisms").output
            #expect(drawn.matches(of: #/<circle class="ball/#).count == 3)
            #expect(drawn.matches(of: #/<circle class="d\d" /#).count == 2)
            #expect(drawn.contains("Focal mechanisms known: 3 ("))
        }
    }

    @Test("The plot has as many aftershocks as the report, and an unknown mainshock ends with 66")
    func aftershocks() async throws {
        try await TestServer.shared.withDatabase { database in
            // Some rows are too far away, some have another type, and some have no magnitude.
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, type, time, updated, longitude, latitude)
                select 'q' || n, 'q', '', case when n = 0 then 6 when n % 7 > 0 then 3 end,
                       case when n % 5 = 1 then 'explosion' end,
                       timestamptz '2024-01-01+00' + n * interval '3 hours', '2024-01-01+00', n * 0.02, 0
                from generate_series(0, 60) as n
                """)
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let outcome = try await quakes.run("plot", "aftershocks", "--mainshock", "q0")
            let report = try await quakes.run("report", "aftershocks", "mainshock=q0", "--format", "csv")
            let unknown = try await quakes.run("plot", "aftershocks", "--mainshock", "q0nosuch")

            #expect(outcome.status == 0 && XMLParser(data: Data(outcome.output.utf8)).parse())
            let count = report.output.split(separator: "\n").count - 1
            #expect((2..<40).contains(count))
            #expect(outcome.output.contains(">\(count) events from "))
            #expect(unknown.status == 66 && unknown.output == "")
            #expect(unknown.errors == "quakes: there is no earthquake q0nosuch\n")
        }
    }

    @Test(
        "The plot of one agency's aftershocks ends at a gap in that agency's coverage, and lacks its event of the mainshock"
    )
    func aftershocksOfAgency() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, url)
                select net || ':' || n, net, n, case n when 0 then 6 else 3 end,
                       timestamptz '2024-01-01+00' + n * interval '3 hours' + lag * interval '1 second', now(), 0, 0,
                       'https://' || host || '/' || n
                from generate_series(0, 40) as n,
                     (values ('us', 'earthquake.usgs.gov', 0), ('gfz', 'geofon.gfz.de', 1)) as agency (net, host, lag)
                """)
            try await database.query(
                """
                select import.note_coverage('earthquake.usgs.gov', null, '[2023-12-01+00,2024-01-05+00)'),
                       import.note_coverage('geofon.gfz.de', null, '[2023-12-01+00,2024-01-03+00)')
                """)
            try await database.group(["us:0", "gfz:0"])
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let plot = try await quakes.run("plot", "aftershocks", "--mainshock", "us:0", "--agency", "gfz")
            #expect(plot.output.contains("no gap in the first 2.0 days"))
            #expect(plot.output.contains(">40 events from "))
        }
    }

    @Test("Without events, the picture is empty, and standard error says so")
    func empty() async throws {
        try await withSample { quakes in
            for command in [["map"], ["plot", "time"]] {
                let outcome = try await quakes.run(command + ["--min-magnitude", "11"])

                #expect(outcome.status == 0, "\(command)")
                #expect(outcome.errors == "quakes: no earthquakes match\n", "\(command)")
                #expect(outcome.output.contains("No earthquakes match."), "\(command)")
            }
        }
    }

    @Test("A PNG is drawn if rsvg-convert is installed; otherwise the error names the package")
    func png() async throws {
        try await withSample { quakes in
            try await withFolder { folder in
                let path = folder.appending(path: "map.png").path
                let outcome = try await quakes.run("map", "--output", path)
                if FileManager.default.isExecutableFile(atPath: "/usr/bin/rsvg-convert") {
                    #expect(outcome.status == 0 && outcome.errors == "")
                    #expect(
                        try Data(contentsOf: URL(filePath: path)).prefix(4) == Data([0x89, 0x50, 0x4E, 0x47]))
                } else {
                    print("skipped the drawing: rsvg-convert is not installed")
                }
                var without = quakes
                without.environment["PATH"] = folder.path
                try FileManager.default.createDirectory(
                    at: folder.appending(path: "no"), withIntermediateDirectories: false)
                let other = folder.appending(path: "other.png").path
                let refused = try await without.run("map", "--output", other)
                #expect(refused.status == 69)
                #expect(refused.errors.contains("apt install librsvg2-bin"))
                #expect(!FileManager.default.fileExists(atPath: other))
                #expect(!FileManager.default.fileExists(atPath: other + ".new"))
            }
        }
    }

    @Test("If rsvg-convert ends without reading the picture, the command says so and leaves no file")
    func failingConverter() async throws {
        try await withSample { quakes in
            try await withFolder { folder in
                let program = folder.appending(path: "rsvg-convert")
                try Data("#!/bin/sh\necho 'unknown option' >&2\nexit 1\n".utf8).write(to: program)
                #expect(chmod(program.path, 0o755) == 0)
                var broken = quakes
                broken.environment["PATH"] = folder.path + ":/usr/bin:/bin"
                broken.launcher = ["env", "--default-signal=PIPE"]
                let path = folder.appending(path: "map.png").path
                let outcome = try await broken.run("map", "--output", path)
                #expect(outcome.status == 69)
                #expect(outcome.errors.contains("rsvg-convert could not draw the picture"), "\(outcome)")
                #expect(!FileManager.default.fileExists(atPath: path + ".new"))
            }
        }
    }

    @Test("An SVG replaces an existing file, and a missing folder is an error")
    func file() async throws {
        try await withSample { quakes in
            try await withFolder { folder in
                let path = folder.appending(path: "plot.svg").path
                try Data("before".utf8).write(to: URL(filePath: path))
                #expect(chmod(path, 0o600) == 0)

                let outcome = try await quakes.run("plot", "cumulative", "--output", path)
                let nowhere = try await quakes.run("map", "-o", folder.path + "/no/map.svg")

                #expect(outcome.status == 0 && outcome.output == "")
                #expect(XMLParser(data: try Data(contentsOf: URL(filePath: path))).parse())
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["plot.svg"])
                #expect(nowhere.status == 74 && nowhere.errors.contains("No such file or directory"))
            }
        }
    }

    @Test(
        "Unknown, missing or contradictory options are wrong usage",
        arguments: [
            ["map", "--output", "map.pdf"], ["plot", "aftershocks"], ["plot", "time", "--mainshock", "a"],
            ["plot", "aftershocks", "--mainshock", "a", "--since", "1d"], ["plot", "nosuch"], ["plot"],
            ["plot", "aftershocks", "--mainshock", "a", "--radius", "0"],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await QuakesCommand().run(arguments).status == 64)
    }

    private func withSample(_ body: (QuakesCommand) async throws -> Void) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(600)
            try await body(QuakesCommand(["DATABASE_URL": database.url]))
        }
    }
}
