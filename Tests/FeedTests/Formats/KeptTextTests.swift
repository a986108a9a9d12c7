import TestSupport
import Testing

@testable import Feed

/// Reads text that differs from the standard: other column names, other words for missing values, other lines among the rows.
@Suite("Non-standard FDSN text") struct KeptTextTests {
    private static let start = "#EventID|Time|Latitude|Longitude"
    private static let row = "gfz2026aaaa|2026-10-01T00:00:00|1|2"

    // MARK: Columns

    @Test(
        "A depth or a magnitude in a column with another name is read, with a note",
        arguments: [
            ("Depth_Km", 33.5), ("Depth (km)", 33.5), ("depth [km]", 33.5), ("Depth.km", 33.5),
            ("DEPTH/KM", 33.5),
            ("DepthKm", 33.5), ("Depth/m", 0.0335), ("Depth (m)", 0.0335), ("depth_metres", 0.0335),
        ])
    func depths(name: String, depth: Double) throws {
        for (magnitude, isUsual) in [("Magnitude", true), ("Mag", false), ("mag_value", false)] {
            let document = "\(Self.start)|\(name)|Mag_Type|\(magnitude)\n\(Self.row)|33.5|ML|2.5\n"
            let outcome = ScanOutcome(Array(document.utf8))
            let quake = try #require(try outcome.features.first?.result?.get())
            #expect(quake.depth == depth)
            #expect(quake.magnitude == 2.5)
            #expect(quake[.magnitudeType] == .text("ML"))
            #expect(quake[.extra] == .null)
            let conversion = depth == 33.5 ? "" : ", and converted from metres"
            #expect(
                outcome.notes.contains("the column \(name) is read as Depth/km\(conversion)")
                    == (name != "DEPTH/KM"))
            #expect(outcome.notes.contains("the column \(magnitude) is read as Magnitude") != isUsual)
        }
    }

    @Test(
        "A header line is refused if a column with an unclear name may be the missing depth or magnitude",
        arguments: [
            ("Depth/mi|Magnitude", "Depth/km", "Depth/mi"), ("Dep|Magnitude", "Depth/km", "Dep"),
            ("Profondeur|Magnitude", "Depth/km", "Profondeur"),
            ("Focal Depth|Magnitude", "Depth/km", "Focal Depth"),
            ("Depth/km|ML", "Magnitude", "ML"), ("Depth/km|Mw", "Magnitude", "Mw"),
            ("Depth/km|MagType|Magnitud", "Magnitude", "Magnitud"),
            ("Depth/km|PrefMag", "Magnitude", "PrefMag"),
        ])
    func unclear(columns: String, missing: String, likely: String) throws {
        let error = try #require(ScanOutcome(Array("\(Self.start)|\(columns)\n".utf8)).error)
        #expect(
            "\(error)".contains(
                "the header line has no column \(missing), and it is unclear whether \(likely) is that column"
            ),
            "\(error)")
    }

    @Test(
        "DepthType or MagAuthor is not read as the depth or the magnitude, and notes report the missing columns"
    )
    func missing() throws {
        let columns = "DepthType|DepthError|MagType|MagAuthor|Mag_Uncertainty"
        let outcome = ScanOutcome(Array("\(Self.start)|\(columns)\n\(Self.row)|a|1|ML|x|0.1\n".utf8))
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.depth == nil && quake.magnitude == nil)
        #expect(
            outcome.notes == [
                "the header line has no column Depth/km, so no event has this value; other columns are DepthType, DepthError, Mag_Uncertainty",
                "the header line has no column Magnitude, so no event has this value; other columns are DepthType, DepthError, Mag_Uncertainty",
            ])
        #expect(ScanOutcome(Array("\(Self.start)\n\(Self.row)\n".utf8)).notes == [])
    }

    @Test(
        "A column with the standard name is used before one with another spelling; two other spellings are an error"
    )
    func twoNames() throws {
        let document = "\(Self.start)|Mag|Magnitude|Depth_km|Depth/km\n\(Self.row)|9|2.5|7|33.5\n"
        let outcome = ScanOutcome(Array(document.utf8))
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.magnitude == 2.5 && quake.depth == 33.5)
        #expect(quake[.extra] == .json(#"{"depth_km":"7"}"#))
        let error = ScanOutcome(Array("\(Self.start)|Depth_km|Depth (km)\n".utf8)).error
        #expect("\(String(describing: error))".contains("names a column twice"))
    }

    @Test("A header line may have at most 100 columns, and a comment any number of bars")
    func limit() throws {
        func names(_ count: Int) -> String { (0..<count).map { "|a\($0)" }.joined() }
        let usual = "\(Self.start)|Depth/km|Magnitude"
        #expect(ScanOutcome(Array("\(usual)\(names(94))\n".utf8)).error == nil)
        for count in [95, 9000] {
            let error = ScanOutcome(Array("\(usual)\(names(count))\n".utf8)).error
            #expect("\(String(describing: error))".contains("the header line names more than 100 columns"))
        }
        let bars = "# " + String(repeating: "|", count: 60_000)
        #expect(ScanOutcome(Array("\(usual)\n\(bars)\n\(Self.row)|1|2\n\(bars)\n".utf8)).features.count == 1)
    }

    // MARK: Missing values

    @Test(
        "A word for a missing value is null in every optional column",
        arguments: ["", "--", "-", "---", "None", "none", "nan", "NaN", "null", "NULL", "N/A"])
    func nothing(word: String) throws {
        let columns = ["Depth/km", "MagType", "Magnitude", "Author", "EventLocationName", "GT", "EventType"]
        let document =
            "\(Self.start)|\(columns.joined(separator: "|"))\n\(Self.row)"
            + String(repeating: "|\(word)", count: columns.count) + "\n"
        let quake = try #require(try ScanOutcome(Array(document.utf8)).features.first?.result?.get())
        #expect(quake.depth == nil && quake.magnitude == nil)
        for property in [Property.magnitudeType, .place, .type, .extra] { #expect(quake[property] == .null) }
    }

    @Test(
        "A word for a missing value is kept inside a longer text or a number", arguments: ["-1", "-.5"])
    func something(depth: String) throws {
        let document = "\(Self.start)|Depth/km|EventLocationName\n\(Self.row)|\(depth)|Nullagine - None\n"
        let quake = try #require(try ScanOutcome(Array(document.utf8)).features.first?.result?.get())
        #expect(quake.depth == Double(depth == "-.5" ? "-0.5" : depth))
        #expect(quake[.place] == .text("Nullagine - None"))
    }

    // MARK: Other lines

    static let failures = [
        ["Error: MySQL server has gone away"],
        ["<br />", "<b>Fatal error</b>:  Maximum execution time of 30 seconds"],
        ["", "# half", "Traceback (most recent call last):", "  File \"query.py\", line 12, in <module>"],
        ["</table></body></html>"], ["ORA-01555: snapshot too old | rollback segment"],
        ["a|b|c|d|e|f|g|h|i|j|k|l|m|n"], ["Internal|Server|Error"], [String(repeating: "x", count: 70_000)],
        ["gfz2026aab"], ["gfz2026aaba|2026-10-01T00"],
    ]

    @Test(
        "A line that is not a row is rejected, and the document is incomplete", arguments: failures)
    func strays(lines: [String]) throws {
        let document = "\(TextTests.header)\n\(TextTests.gfz)\n" + lines.map { "\($0)\n" }.joined()
        let outcome = ScanOutcome(Array(document.utf8))
        #expect(outcome.error == nil && outcome.isIncomplete)
        let count = lines.count { !$0.isEmpty && !$0.hasPrefix("#") }
        #expect(outcome.features.count == 1 + count)
        for feature in outcome.features.dropFirst() {
            #expect(feature.failure != nil)
            #expect(feature.bytes.withUnsafeBufferPointer { readableCode(of: $0) } == nil)
        }
        let line = 3 + lines.prefix { $0.isEmpty || $0.hasPrefix("#") }.count
        #expect("\(try #require(outcome.breach))".contains("from line \(line) on"))
        #expect(ScanOutcome(Array(document.utf8), inChunksOf: { 1000 }) == outcome)

        // If rows follow, there is no breach: the service has continued after its message.
        let more = ScanOutcome(Array("\(document)\(TextTests.gfz)\n# end\n\n".utf8))
        #expect(more.isIncomplete && more.breach == nil)
    }

    @Test("A broken row, a comment and an empty line do not make a document incomplete")
    func wholes() throws {
        let rows = [
            TextTests.gfz, TextTests.gfz.replacing("2026-10-01T01:29:17.05", with: "now"),
            TextTests.gfz.replacing("5.28", with: "strong"), TextTests.gfz.replacing("|earthquake", with: ""),
            TextTests.gfz.replacing("||GFZ", with: "|a|b|c|GFZ"),
        ]
        for row in rows {
            let outcome = ScanOutcome(
                Array("\(TextTests.header)\n\(row)\n# Error: not this one\n \n\n#\n".utf8))
            #expect(outcome.features.count == 1 && !outcome.isIncomplete && outcome.breach == nil)
            outcome.features[0].bytes.withUnsafeBufferPointer {
                #expect(readableCode(of: $0) == "gfz:gfz2026texh")
            }
        }
    }

    @Test("An empty response to a query for text is accepted as incomplete, without events")
    func empty() {
        for text in ["", "\n", " \r\n"] {
            let outcome = ScanOutcome(Array(text.utf8), mayBeEmpty: true)
            #expect(outcome.error == nil && outcome.features.isEmpty && outcome.isIncomplete)
            #expect(ScanOutcome(Array(text.utf8)).error != nil)
        }
        #expect(ScanOutcome(Array("Error".utf8), mayBeEmpty: true).error != nil)
        #expect(!ScanOutcome(Array("\(TextTests.header)\n".utf8), mayBeEmpty: true).isIncomplete)
        let text = FeedSource.url("https://example.org/fdsnws/event/1/query?starttime=2026-01-01&format=text")
        for (source, mayBeEmpty) in [
            (text, true), (.url("https://example.org/fdsnws/event/1/query?format=geojson"), false),
            (.url("https://example.org/x?format=text"), false), (.file("format=text"), false),
        ] {
            var scanner = DocumentScanner(of: source)
            #expect((try? scanner.finish { _ in true }) == (mayBeEmpty ? true : nil))
        }
    }

    @Test("Users' sample files are read correctly", .needsFieldSamples)
    func samples() throws {
        let units = ScanOutcome(try FieldSamples.bytes("text-header-units.txt"))
        let quake = try #require(try units.features.first?.result?.get())
        #expect(quake.depth == 33.5 && quake.magnitude == 2.5)
        let failed = ScanOutcome(try FieldSamples.bytes("text-then-error.txt"))
        #expect(failed.features.map { $0.failure == nil } == [true, true, false])
        #expect(failed.isIncomplete)
    }
}
