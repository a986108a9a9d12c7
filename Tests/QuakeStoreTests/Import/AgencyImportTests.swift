import Feed
import Foundation
import PostgreSQL
import QuakeML
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Text and QuakeML of other agencies")
struct AgencyImportTests {
    let server = TestServer.shared

    static let header =
        "#EventID|Time|Latitude|Longitude|Depth/km|Contributor|MagType|Magnitude|EventLocationName"

    static func row(
        _ id: String, time: String = "2026-10-01T01:29:17.05", magnitude: String = "5.28"
    ) -> String {
        "\(id)|\(time)|36.047|68.87|10.0|GFZ|mb|\(magnitude)|Hindu Kush"
    }

    /// An event id of the form that SeisComP uses.
    static func id(_ number: Int) -> String {
        "gfz2026aa" + String(UnicodeScalar(97 + number / 26)!) + String(UnicodeScalar(97 + number % 26)!)
    }

    static func text(_ rows: String...) -> String { text(rows) }
    static func text(_ rows: [String]) -> String { ([header] + rows).joined(separator: "\n") + "\n" }

    static func quakeML(_ id: String, magnitude: String, made: String) -> String {
        """
        <?xml version="1.0"?><q:quakeml xmlns:q="http://quakeml.org/xmlns/quakeml/1.2" xmlns="http://quakeml.org/xmlns/bed/1.2">
        <eventParameters publicID="smi:local/x"><event publicID="smi:org.gfz-potsdam.de/geofon/\(id)">
        <creationInfo><agencyID>GFZ</agencyID><creationTime>\(made)</creationTime></creationInfo>
        <origin publicID="smi:local/o"><time><value>2026-10-01T01:29:17.05Z</value></time>
        <latitude><value>36.047</value></latitude><longitude><value>68.87</value></longitude></origin>
        <magnitude publicID="smi:local/m"><mag><value>\(magnitude)</value></mag><type>mb</type></magnitude>
        <focalMechanism publicID="smi:local/f"><nodalPlanes><nodalPlane1><strike><value>10</value></strike></nodalPlane1></nodalPlanes>
        <momentTensor><scalarMoment><value>9.6e17</value></scalarMoment></momentTensor></focalMechanism>
        </event></eventParameters></q:quakeml>
        """
    }

    @Test(
        "A row that can't be imported is kept with its bytes, line and offset, and the others are imported"
    )
    func rejects() async throws {
        try await server.withDatabase { database in
            let broken = Self.row("gfz2026bbbb", magnitude: "strong")
            let document = Self.text(
                Self.row("gfz2026aaaa"), broken, Self.row("gfz2026cccc", magnitude: "99"))

            let summary = try await database.importDocument(document)

            #expect(summary.figures == [1, 0, 0, 0, 2])
            let rejects = try await database.query("select * from import.reject order by ordinal")
            #expect(try rejects[0].decode("message") == "line 3: Magnitude: not a number")
            #expect(try rejects[0].decode("raw") == Array(broken.utf8))
            #expect(
                try rejects[0].decode("byte_offset")
                    == document.utf8.distance(
                        from: document.startIndex, to: document.range(of: broken)!.lowerBound))
            #expect(try rejects[1].decode("message") == "line 4: mag is beyond ±12")
        }
    }

    @Test("The outcome of a run is recorded even if a column's name or an id contains a NUL character")
    func nul() async throws {
        try await server.withDatabase { database in
            let document = Self.text(Self.row("gfz2026aaaa"), Self.row("ab\0cd"))
                .replacing("Depth/km", with: "D\0epth_km")

            let summary = try await database.importDocument(document)

            #expect(summary.figures == [1, 0, 0, 0, 1])
            let run = try await database.query("select outcome, error from import.run")[0]
            #expect(try run.decode("outcome") == "done")
            #expect(try run.decode("error") == "the column D\u{FFFD}epth_km is read as Depth/km")
            let reject = try await database.query("select reason, message from import.reject")[0]
            #expect(try reject.decode("reason") == "encoding")
            #expect(try reject.decode("message") == "line 3: EventID: invalid UTF-8 or a NUL character")
        }
    }

    @Test("Importing the same document again changes nothing")
    func again() async throws {
        try await server.withDatabase { database in
            for document in [
                Self.text(Self.row("gfz2026aaaa"), Self.row("gfz2026bbbb")),
                Self.quakeML("gfz2026cccc", magnitude: "5.3", made: "2026-10-01T01:40:00Z"),
            ] {
                let first = try await database.importDocument(document)
                #expect(first.counts.inserted == first.counts.seen)
                let second = try await database.importDocument(document)
                #expect(second.counts.unchanged == first.counts.seen)
                #expect(second.tokens == nil)
            }
        }
    }

    /// The text format has no time of revision, and an origin time may move in either direction.
    @Test(
        "If two versions have no time of revision, the one imported last counts, however its origin moved")
    func undated() async throws {
        try await server.withDatabase { database in
            for (time, magnitude) in [("01:29:17.05", "5.2"), ("01:29:12", "5.3"), ("01:29:19", "5.1")] {
                try await database.importDocument(
                    Self.text(Self.row("gfz2026aaaa", time: "2026-10-01T\(time)", magnitude: magnitude)))
                let row = try await database.query(
                    "select magnitude, updated = time as is_undated from quake")[0]
                #expect(try row.decode("magnitude") == Double(magnitude))
                #expect(try row.decode("is_undated"))
            }
        }
    }

    @Test(
        "If one document has two versions without a time of revision, the later of them in the document counts"
    )
    func undatedInOneDocument() async throws {
        try await server.withDatabase { database in
            let document = Self.text(
                Self.row("gfz2026aaaa", time: "2026-10-01T01:29:18", magnitude: "5.2"),
                Self.row("gfz2026aaaa", time: "2026-10-01T01:29:17", magnitude: "5.3"))
            let summary = try await database.importDocument(document)
            #expect(summary.counts.inserted == 1 && summary.counts.stale == 0)
            let row = try await database.query("select magnitude from quake")[0]
            #expect(try row.decode("magnitude") == 5.3)
        }
    }

    @Test("A version with a time of revision takes precedence over a version without one, in either order")
    func datedAndUndated() async throws {
        let dated = Self.quakeML("gfz2026aaaa", magnitude: "5.4", made: "2026-10-01T01:40:00Z")
        let undated = Self.text(Self.row("gfz2026aaaa", time: "2026-10-01T01:29:20", magnitude: "5.1"))
        for documents in [[dated, undated], [undated, dated]] {
            try await server.withDatabase { database in
                var stale = 0
                for document in documents {
                    stale += try await database.importDocument(document).counts.stale
                }
                let row = try await database.query("select magnitude, updated from quake")[0]
                #expect(try row.decode("magnitude") == 5.4)
                #expect(try row.decode("updated") == Instant("2026-10-01T01:40:00Z"))
                #expect(stale == (documents[0] == dated ? 1 : 0))
            }
        }
    }

    // MARK: Deleted events

    @Test(
        "An event that a document lists as not existing is deleted, and is neither imported nor rejected",
        arguments: [1, 3])
    func notExisting(lanes: Int) async throws {
        try await server.withDatabase { database in
            var options = Importer.Options()
            (options.batchSize, options.lanes) = (7, lanes)
            let rows = (0..<50).map { Self.row(Self.id($0)) }
            try await database.importDocument(Self.text(rows))
            let header = Self.header + "|EventType"
            let document =
                ([header] + rows.map { $0 + "|earthquake" }).joined(separator: "\n")
                .replacing("\(rows[3])|earthquake", with: "\(rows[3])|not existing") + "\n"

            let summary = try await database.importDocument(document, options)

            #expect(summary.failure == nil && summary.counts.seen == 49 && summary.counts.rejected == 0)
            #expect(summary.counts.retracted == 1)
            #expect(try await database.reasons() == ["deleted by geofon.gfz.de"])
            #expect(try await database.count("quake") == 49)
            #expect(try await database.count("import.settled") == 0)
            let again = try await database.importDocument(document, options)
            #expect(again.counts.retracted == 0 && again.counts.unchanged == 49)
        }
    }

    @Test(
        "A withdrawn event whose id is too long is rejected, and other withdrawn events are deleted",
        arguments: [65, 5000])
    func longID(length: Int) async throws {
        try await server.withDatabase { database in
            let rows = [Self.row("gfz2026aaaa"), Self.row("gfz2026bbbb")]
            try await database.importDocument(Self.text(rows))
            let gone = [rows[0], Self.row(String(repeating: "x", count: length))].map { $0 + "|not existing" }
            let document =
                ([Self.header + "|EventType", rows[1] + "|earthquake"] + gone).joined(separator: "\n") + "\n"

            let summary = try await database.importDocument(document)

            #expect(summary.failure == nil && summary.counts.retracted == 1)
            #expect(try await database.codes() == ["gfz:gfz2026bbbb"])
            let reject = try await database.query("select message from import.reject")[0]
            #expect(try reject.decode("message") == "line 4: id is longer than 64 bytes")
        }
    }

    @Test(
        "A document of an agency without a known service deletes the agency's events, but no event with a service's URL"
    )
    func unknownService() async throws {
        try await server.withDatabase { database in
            let rows = [Self.row("xyz2026aaaa"), Self.row("xyz2026bbbb")].map {
                $0.replacing("GFZ", with: "XYZ")
            }
            try await database.importDocument(Self.text(rows))
            try await database.query("update quake set url = 'https://xyz.example/b' where code like '%bbbb'")
            let gone = rows.map { $0 + "|not existing" }
            let summary = try await database.importDocument(
                ([Self.header + "|EventType"] + gone).joined(separator: "\n") + "\n")
            #expect(summary.counts.retracted == 1)
            #expect(try await database.codes() == ["xyz:xyz2026bbbb"])
            #expect(try await database.reasons() == ["deleted by its document"])
        }
    }

    @Test(
        "A withdrawal with a time does not delete a later version",
        arguments: ["01:40", "01:50", "02:00"])
    func datedWithdrawal(time: String) async throws {
        try await server.withDatabase { database in
            let document = Self.quakeML("gfz2026aaaa", magnitude: "5.4", made: "2026-10-01T01:50:00Z")
            try await database.importDocument(document)
            let withdrawal = Self.quakeML("gfz2026aaaa", magnitude: "5.4", made: "2026-10-01T\(time):00Z")
                .replacing("<origin ", with: "<type>not existing</type><origin ")
            let summary = try await database.importDocument(withdrawal)
            #expect(summary.counts.retracted == (time == "01:40" ? 0 : 1))
        }
    }

    @Test(
        "A document that lists too many events as not existing deletes them only with force"
    )
    func brake() async throws {
        try await server.withDatabase { database in
            let rows = (0..<50).map { Self.row(Self.id($0)) }
            try await database.importDocument(Self.text(rows))
            let document =
                ([Self.header + "|EventType"] + rows.prefix(9).map { $0 + "|not existing" })
                .joined(separator: "\n") + "\n"
            var options = Importer.Options()
            options.retraction = .never
            #expect(try await database.importDocument(document, options).failure == nil)
            let held = try await database.importDocument(document)
            #expect(held.failure is BrakeHeld)
            #expect(
                "\(held.failure.map { "\($0)" } ?? "")".contains(
                    "the document says that 9 events were deleted"))
            #expect(try await database.count("quake") == 50)
            options.retraction = .force
            options.isDryRun = true
            #expect(try await database.importDocument(document, options).counts.retracted == 9)
            #expect(try await database.count("quake") == 50)
            options.isDryRun = false
            #expect(try await database.importDocument(document, options).counts.retracted == 9)
            #expect(try await database.count("quake") == 41)
        }
    }

    @Test("Small batches and several connections give the same rows", arguments: [1, 3])
    func batches(lanes: Int) async throws {
        try await server.withDatabase { database in
            let rows = (0..<50).map { Self.row(Self.id($0)) }
            var options = Importer.Options()
            (options.batchSize, options.lanes) = (7, lanes)
            let summary = try await database.importDocument(
                ([Self.header] + rows).joined(separator: "\n"), options)
            #expect(summary.counts.inserted == 50)
            #expect(try await database.query("select count(*) as n from quake")[0].decode("n") == 50)
        }
    }

    @Test("A report lists focal mechanisms, and leaves out values that are not valid numbers")
    func mechanisms() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(
                Self.quakeML("gfz2026aaaa", magnitude: "5.4", made: "2026-10-01T01:40:00Z"))
            let row = try await database.query(
                "select code, strike1_deg, dip1_deg, scalar_moment_nm from report.focal_mechanism")[0]
            #expect(try row.decode("code") == "gfz:gfz2026aaaa")
            #expect(try row.decode("strike1_deg") == 10.0)
            #expect(try row.decodeIfPresent("dip1_deg", as: Double.self) == nil)
            #expect(try row.decode("scalar_moment_nm") == 9.6e17)
            // Any writer can store any value in `extra`.
            try await database.query(
                """
                update quake set extra = '{"focal_mechanism": {"strike1": "north", "dip1": 1e400, "dip2": -1e-400, "rake1": 5, "clvd": 0}}'
                """)
            let other = try await database.query("select * from report.focal_mechanism")[0]
            #expect(try other.decodeIfPresent("strike1_deg", as: Double.self) == nil)
            #expect(try other.decodeIfPresent("dip1_deg", as: Double.self) == nil)
            #expect(try other.decodeIfPresent("dip2_deg", as: Double.self) == nil)
            #expect(try other.decode("rake1_deg") == 5.0 && other.decode("clvd") == 0.0)
        }
    }

    @Test("QuakeML that Quakes writes gives the same rows when it is imported into another database")
    func roundTrip() async throws {
        try await server.withDatabase { database in
            try await database.importDocument(
                Self.text(Self.row("gfz2026aaaa"), Self.row("gfz2026bbbb", magnitude: "")))
            try await database.importSample(200)
            try await database.query(
                "update quake set type = 'Rock <Fall>', place = E' a\\n\"b\" & c ', magnitude_type = null where code = (select min(code) from quake)"
            )
            try await database.query(
                "update quake set type = 'quarry', depth = null where code = (select max(code) from quake)")
            let events = Mutex("")
            try await database.withConnection { connection in
                try await QuakeSelection().forEach(on: connection) { quake in
                    events.withLock { $0 += QuakeML.event(quake) }
                }
            }
            let document = QuakeML.head + events.withLock(\.self) + QuakeML.tail

            try await server.withDatabase { other in
                let summary = try await other.importDocument(document)
                #expect(summary.counts.inserted == 202)
                let rows: Query = """
                    select row(code, net, net_code, magnitude,
                               -- In QuakeML, there is no magnitude type without a magnitude.
                               case when magnitude is not null then magnitude_type end, place, status, type, time, updated, nst,
                               dmin, rms, gap, longitude, latitude, depth)::text as line
                    from quake order by code
                    """
                let (here, there) = (try await database.query(rows), try await other.query(rows))
                for (one, other) in zip(here, there) {
                    let (one, other): (String, String) = (try one.decode("line"), try other.decode("line"))
                    #expect(one == other)
                }
                #expect(here.count == there.count)
            }
        }
    }
}
