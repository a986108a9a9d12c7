import Foundation
import TestSupport
import Testing

@Suite("quakes list")
struct ListCommandTests {
    let server = TestServer.shared

    @Test("In a pipe, the table of the newest events is as wide as its contents")
    func table() async throws {
        try await withQuakes { quakes in
            let outcome = try await quakes.run("list", "--limit", "1")

            #expect(
                outcome.output == """
                    TIME (UTC)           MAG  MAG TYPE  TYPE  DEPTH KM  PLACE                         ALERT     LAT     LON  FELT  STATUS  UPDATED              URL  CODE
                    1970-01-01 00:00:01  1.5                      30.0  somewhere                            20.000  10.000                1970-01-01 00:00:01       q0a

                    """)
        }
    }

    @Test(
        "With --merge, each earthquake is one line with its agencies; --agency selects the events of an agency"
    )
    func merged() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"], magnitudeFrom: "gfz:a")

            let table = try await quakes.run("list", "--merge").output.split(separator: "\n")
            #expect(table.count == 4 && table[0].contains("PLACE") && table[0].contains("AGENCIES"))
            #expect(
                table[1].contains("5.3") && table[1].contains("Onetown") && table[1].contains("EMSC GFZ USGS")
            )
            let csv = try await quakes.run("list", "--merge", "--agency", "gfz", "--format", "csv").output
                .split(separator: "\n")
            #expect(csv.count == 2 && csv[0].hasSuffix(",earthquake,magnitude_from,agencies,events"))
            #expect(csv[1].hasSuffix(#",us1,gfz:a,"emsc,gfz,usgs","emsc:b,gfz:a,us1""#))
            let json = try await quakes.run("list", "--merge", "--min-magnitude", "5.2", "--format", "ndjson")
                .output
            let row = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            #expect(
                row["agencies"] as? [String] == ["emsc", "gfz", "usgs"] && row["magnitude"] as? Double == 5.3)
            #expect(row["events"] as? [String] == ["emsc:b", "gfz:a", "us1"])
            #expect(
                try await quakes.run("list", "--agency", "gfz").output.contains("One Region"),
                "the agency's own row is listed")

            try await database.group(["us1"])
            #expect(try await quakes.run("list", "--merge").output.split(separator: "\n").count == 6)
            let before = try await quakes.run("list", "--merge", "--as-of", "2").output
            #expect(before.split(separator: "\n").map { "\($0)" } == table.map { "\($0)" })
        }
    }

    @Test(
        "--merge is refused with a view and with QuakeML, and the error gives the reason",
        arguments: [["--view", "x.sqlite"], ["--format", "quakeml"]])
    func notMerged(options: [String]) async throws {
        let outcome = try await QuakesCommand().run(["list", "--merge"] + options)
        #expect(outcome.status == 64 && outcome.errors.contains("--merge cannot be used with \(options[0])"))
    }

    @Test("Importing the GeoJSON output gives the same earthquakes")
    func geoJSONRoundTrip() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let sample = try await quakes.run("sample", "--count", "200")
            _ = try await quakes.run("import", "-", input: sample.output)

            let listed = try await quakes.run("list", "--format", "geojson")

            let again = try await quakes.run("import", "-", input: listed.output)
            #expect(again.output.contains("200 seen, 0 inserted, 0 updated, 200 unchanged"))
        }
    }

    @Test("Unknown properties are printed unchanged")
    func extra() async throws {
        try await withQuakes { quakes in
            let feature = SmallFeed.feature("x", updated: 3000, more: "\"new\":{\"a\":[1,null]}")
            _ = try await quakes.run("import", "-", input: SmallFeed.document([feature]))

            for format in ["geojson", "json", "ndjson"] {
                let outcome = try await quakes.run("list", "--format", format)

                #expect(outcome.output.contains("\"new\": {\"a\": [1, null]}"), "\(format)")
            }
        }
    }

    @Test("JSON, NDJSON and CSV have every column of the table, in every row")
    func columns() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            _ = try await quakes.run("import", "-", input: SmallFeed.document([SmallFeed.feature("a")]))
            let names = try await database.query(
                """
                select column_name as name from information_schema.columns
                where table_name = 'quake' and column_name <> 'imported_at'
                """
            ).map { try $0.decode("name", as: String.self) }

            for format in ["json", "ndjson"] {
                let outcome = try await quakes.run("list", "--format", format)

                let json = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
                let row = try #require(
                    (json as? [[String: Any]])?.first ?? json as? [String: Any], "\(format)")
                #expect(Set(row.keys) == Set(names), "\(format)")
            }
            let csv = try await quakes.run("list", "--format", "csv")
            #expect(
                Set(csv.output.split(separator: "\n")[0].split(separator: ",").map(String.init)) == Set(names)
            )
        }
    }

    @Test("Southern latitudes and negative magnitudes need no special syntax")
    func negativeValues() async throws {
        try await withQuakes { quakes in
            let outcome = try await quakes.run(
                "list", "--near", "-20,-10", "--within", "20000", "--min-magnitude", "-1", "--format", "csv")

            #expect(outcome.status == 0)
            #expect(outcome.output.contains("q0a"))
        }
    }

    @Test("An empty list is valid in every format")
    func empty() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for format in ["json", "geojson", "ndjson", "csv", "table", "quakeml"] {
                let outcome = try await quakes.run("list", "--format", format)

                #expect(outcome.status == 0, "\(format): \(outcome.errors)")
                if format == "json" { #expect(outcome.output == "[]\n") }
                if format == "geojson" {
                    let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
                    #expect(object is [String: Any])
                }
            }
        }
    }

    @Test("Escape sequences in a place do not reach the terminal")
    func controlCharacters() async throws {
        try await withQuakes { quakes in
            let feature = SmallFeed.feature("x", place: "red \\u001b[31m alert")
            _ = try await quakes.run("import", "-", input: SmallFeed.document([feature]))

            #expect(!(try await quakes.run("list").output.contains("\u{1B}")))
        }
    }

    @Test("A long text widens only its own line, and only in a pipe; other formats print it in full")
    func longText() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures((0..<50).map { SmallFeed.feature("c\($0)") })
            try await database.query("update quake set place = repeat('x', 50000) where code = 'q0c7'")

            for arguments in [["list", "--limit", "0"], ["report", "event"], ["changes"]] {
                let table = try await quakes.run(arguments).output
                let lines = table.split(separator: "\n")
                #expect(lines.count > 50)
                // Only the line with the long text is long.
                #expect(lines.count { $0.utf8.count > 1000 } == 1, "\(arguments)")
                let atTerminal = try await quakes.runAtTerminal(arguments).output
                #expect(!atTerminal.contains(String(repeating: "x", count: 80)), "\(arguments)")
            }
            for format in ["json", "ndjson", "csv", "geojson"] {
                let listed = try await quakes.run("list", "--format", format).output
                #expect(listed.contains(String(repeating: "x", count: 50_000)))
            }
        }
    }

    @Test(
        "CSV is exact; with --spreadsheet it has no control characters, and no text that a spreadsheet takes for a formula"
    )
    func spreadsheet() async throws {
        try await withQuakes { quakes in
            let texts = ["=1+1", "+1", "-1", "@x", "\\t=1", "a=1", "＝1", "red\\u001b[31m"]
            let features = texts.enumerated().map { index, text in
                SmallFeed.feature("x\(index)", place: text, magnitude: "-0.5")
            }
            _ = try await quakes.run("import", "-", input: SmallFeed.document(features))

            for arguments in [["list"], ["report", "event"]] {
                func column(_ options: [String]) async throws -> [String] {
                    let outcome = try await quakes.run(arguments + ["--format", "csv"] + options)
                    let rows = outcome.output.split(separator: "\n").map {
                        $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                    }
                    let index = try #require(rows.first?.firstIndex(of: "place"))
                    #expect(rows.dropFirst().count { $0.contains("-0.5") } == texts.count)
                    return rows.dropFirst().map { $0[index] }.sorted()
                }
                let exact = ["=1+1", "+1", "-1", "@x", "\t=1", "a=1", "＝1", "red\u{1B}[31m", "somewhere"]
                #expect(try await column([]) == exact.sorted())
                let safe = [
                    "'=1+1", "'+1", "'-1", "'@x", "'\u{FFFD}=1", "a=1", "'＝1", "red\u{FFFD}[31m", "somewhere",
                ]
                #expect(try await column(["--spreadsheet"]) == safe.sorted())
            }
        }
    }

    @Test(
        "--spreadsheet without --format csv is wrong usage",
        arguments: ["list", "report", "verify --since 1d"])
    func spreadsheetWithoutCSV(command: String) async throws {
        let arguments = command.split(separator: " ").map(String.init) + ["--spreadsheet"]
        let outcome = try await QuakesCommand().run(arguments)
        #expect(outcome.status == 64)
        #expect(outcome.errors.hasPrefix("Error: --spreadsheet needs --format csv"))
    }

    private func withQuakes(_ body: (QuakesCommand) async throws -> Void) async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            _ = try await quakes.run("import", "-", input: SmallFeed.document([SmallFeed.feature("a")]))
            try await body(quakes)
        }
    }
}
