import Foundation
import FoundationXML
import TestSupport
import Testing

@Suite("Selections and formats of quakes list")
struct SelectionCommandTests {
    @Test("--until includes the whole of the day, month or year that it names")
    func until() async throws {
        try await withQuakes { quakes in
            for (until, codes) in [
                ("2014", "bcd"), ("2014-04", "bc"), ("2014-04-15", "b"), ("2014-04-15T12:00:00.000Z", ""),
                ("2014-04-15T12:00:00.001Z", "b"),
            ] {
                try await quakes.expect(codes, from: ["--since", "2014", "--until", until])
            }
            try await quakes.expect("cde", from: ["--since", "2014-04-16", "--until", "2015"])
        }
    }

    @Test("Magnitudes, types, places and boxes narrow the list; % and _ are ordinary characters")
    func narrow() async throws {
        try await withQuakes { quakes in
            try await quakes.expect("ab", from: ["--max-magnitude", "2.5", "--min-magnitude", "2"])
            try await quakes.expect("cd", from: ["--type", "Quarry blast, ice quake", "--type", "explosion"])
            try await quakes.expect("abe", from: ["--type", "earthquake"])
            try await quakes.expect("ab", from: ["--place", "ŌMORI"])
            try await quakes.expect("c", from: ["--place", "%"])
            try await quakes.expect("d", from: ["--place", "a_b"])
            try await quakes.expect("ab", from: ["--box", "-10,170,10,-170"])
            try await quakes.expect("cde", from: ["--box", "-10,-170,10,170"])
            try await quakes.expect("ab", from: ["--box", "-10,170,10,190"])
        }
    }

    @Test("Depths and codes narrow the list; an event without a depth is left out")
    func depthsAndCodes() async throws {
        try await withQuakes { quakes in
            try await quakes.expect("bc", from: ["--min-depth", "10", "--max-depth", "35"])
            try await quakes.expect("abc", from: ["--max-depth", "35"])
            try await quakes.expect("a", from: ["--max-depth", "-1"])
            try await quakes.expect("bcd", from: ["--min-depth", "0"])
            try await quakes.expect("ace", from: ["--code", "a, c", "--code", "e,nosuch"])
            try await quakes.expect("c", from: ["--code", "a,c", "--min-depth", "20"])
            let map = try await quakes.run("map", "--min-depth", "10", "--code", "c")
            #expect(map.output.contains("Selection: depth ≥ 10.0 km, c."))
        }
    }

    @Test("If several towns have the same name, --near means the town that is much larger than the others")
    func town() async throws {
        try await withQuakes { quakes in
            let map = try await quakes.run("map", "--near", "los angeles", "--within", "50")
            #expect(map.output.contains("within 50.0 km of Los Angeles, United States of America."))
            #expect(
                try await quakes.run("map", "--near", "rome", "--within", "50").output.contains("km of Rome.")
            )
        }
    }

    @Test("Networks and agencies narrow the list, and the agency usgs includes all networks of its catalogue")
    func agencies() async throws {
        try await withQuakes { quakes in
            try await quakes.expect("a", from: ["--net", "US"])
            try await quakes.expect("be", from: ["--net", "nc, q0"])
            try await quakes.expect("ab", from: ["--agency", "usgs"])
            try await quakes.expect("b", from: ["--agency", "ncedc"])
            try await quakes.expect("abcd", from: ["--agency", "usgs,GFZ", "--agency", "emsc"])
            let outcome = try await quakes.run(["list", "--agency", "gzf"])
            #expect(outcome.errors.contains("did you mean gfz?; select other networks with --net"))
        }
    }

    @Test("--sort puts the largest or the nearest events first, and equal ones in the order of their codes")
    func sort() async throws {
        try await withQuakes { quakes in
            try await quakes.expect("edcba", inOrder: ["--sort", "time"])
            try await quakes.expect("edcab", inOrder: ["--sort", "magnitude"])
            try await quakes.expect(
                "baedc", inOrder: ["--sort", "distance", "--near", "0,-179", "--within", "20016"])
            try await quakes.expect("ed", inOrder: ["--sort", "magnitude", "--limit", "2"])
        }
    }

    @Test(
        "Impossible selections are wrong usage",
        arguments: [
            ["--box", "1,2,3"], ["--box", "10,0,-10,0"], ["--box", "135,35,140,40"], ["--box", "0,0,1,x"],
            ["--sort", "distance"], ["--sort", "size"], ["--since", "2014-04", "--until", "2014-03"],
            ["--type", " ,"], ["--net", ","], ["--agency", "gzf"], ["--net", "us", "--agency", "gfz"],
            ["--min-magnitude", "5", "--max-magnitude", "4"], ["--place", ""], ["--since", "sometime"],
            ["--local-time", "--format", "csv"], ["--near", "0,0"], ["--within", "5"],
            ["--min-depth", "5", "--max-depth", "4"], ["--max-depth", "nan"], ["--code", ","],
            ["--near", "0,0", "--within", "nan"], ["--min-magnitude", "nan"], ["--max-magnitude", "nan"],
        ])
    func usage(options: [String]) async throws {
        let outcome = try await QuakesCommand().run(["list"] + options)
        #expect(outcome.status == 64 && outcome.output == "")
    }

    @Test("--local-time shows times in the zone of TZ with their offset")
    func localTime() async throws {
        try await withQuakes { quakes in
            for (zone, time) in [
                ("Asia/Kolkata", "2014-04-15 17:30:00+05:30"),
                ("America/St_Johns", "2014-04-15 09:30:00-02:30"),
                ("UTC", "2014-04-15 12:00:00+00"),
            ] {
                var local = quakes
                local.environment["TZ"] = zone
                let outcome = try await local.run(
                    "list", "--local-time", "--since", "2014-04-15", "--until", "2014-04-15")
                #expect(outcome.output.hasPrefix("TIME (LOCAL)"))
                #expect(outcome.output.contains("\n\(time) "), "\(outcome.output)")
                let plain = try await local.run("list", "--since", "2014-04-15", "--until", "2014-04-15")
                #expect(plain.output.contains("\n2014-04-15 12:00:00 "))
            }
        }
    }

    @Test("If --as-of is before the history, the error says when the history begins")
    func young() async throws {
        try await withQuakes { quakes in
            let outcome = try await quakes.run("list", "--as-of", "2000-01")
            #expect(outcome.status == 66 && outcome.output == "")
            let text = /quakes: history does not reach that far back: history begins after token 0, 20\S+Z\n/
            #expect(outcome.errors.wholeMatch(of: text) != nil, "\(outcome.errors)")
        }
    }

    @Test("QuakeML is a well-formed document, even without events")
    func quakeML() async throws {
        try await withQuakes { quakes in
            for options in [[], ["--min-magnitude", "11"]] {
                let outcome = try await quakes.run(["list", "--format", "quakeml"] + options)
                #expect(outcome.status == 0)
                #expect(XMLParser(data: Data(outcome.output.utf8)).parse())
                let count = outcome.output.components(separatedBy: "<event ").count - 1
                #expect(count == (options.isEmpty ? 5 : 0))
            }
        }
    }

    @Test("ObsPy reads the exact values of the table from QuakeML, and finds it valid", .needsClients)
    func obsPy() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(200)
            for name in RealFeeds.names.prefix(1) { try await database.importFile(RealFeeds.path(name)) }
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await withFolder { folder in
                var paths: [String] = []
                for format in ["quakeml", "ndjson"] {
                    let path = folder.appending(path: "list.\(format)")
                    let outcome = try await quakes.run("list", "--format", format)
                    try Data(outcome.output.utf8).write(to: path)
                    paths.append(path.path)
                }
                #expect(try await Clients.run("quakeml.py", paths).contains("events are the same"))
            }
        }
    }

    private func withQuakes(_ body: (QuakesCommand) async throws -> Void) async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, place, type, depth)
                values ('a', 'us', 'a', 2.5, '2013-12-31 23:59:59.999+00', now(), 179, 0, 'Ōmori', 'earthquake', -1),
                       ('b', 'nc', 'b', 2.5, '2014-04-15 12:00+00', now(), -179, 0, 'near ōmorI', null, 10),
                       ('c', 'gfz', 'c', 3, '2014-04-30 23:59:59.999+00', now(), 10, 0, '5% of Bern', 'quarry blast', 35),
                       ('d', 'emsc', 'd', 4, '2014-05-01+00', now(), -10, 5, 'A_B', 'explosion', 600),
                       ('e', 'q0', 'e', 5, '2015-12-31+00', now(), -20, 0, 'AxB', 'earthquake', null)
                """)
            try await body(QuakesCommand(["DATABASE_URL": database.url]))
        }
    }
}

extension QuakesCommand {
    /// Checks which codes the list contains, in any order.
    fileprivate func expect(
        _ codes: String, from options: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = String(try await order(options).sorted())
        #expect(found == codes, "\(options)", sourceLocation: sourceLocation)
    }

    /// Checks which codes the list contains, in this order.
    fileprivate func expect(
        _ codes: String, inOrder options: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await order(options)
        #expect(found == codes, "\(options)", sourceLocation: sourceLocation)
    }

    private func order(_ options: [String]) async throws -> String {
        let outcome = try await run(["list", "--format", "csv"] + options)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").dropFirst().map { String($0.prefix(1)) }.joined()
    }
}
