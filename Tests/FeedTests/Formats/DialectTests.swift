import TestSupport
import Testing

@testable import Feed

@Suite("GeoJSON of other agencies") struct DialectTests {
    static func emsc(_ members: String = "", coordinates: String = "[-0.3771,38.9561,-11.7]") -> String {
        """
        {"type":"Feature","geometry":{"type":"Point","coordinates":\(coordinates)},"id":"20261003_0000060",\
        "properties":{"source_id":"2068879","source_catalog":"EMSC-RTS","lastupdate":"2026-10-03T05:31:15.71957Z",\
        "time":"2026-10-03T05:09:14.95Z","flynn_region":"SPAIN","lat":38.9561,"lon":-0.3771,"evtype":"ke",\
        "auth":"IGN","mag":1.6,"magtype":"ml","unid":"20261003_0000060"\(members)}}
        """
    }

    @Test("EMSC writes times as text, and the depth in its geometry as a negative number")
    func emsc() throws {
        for feature in [Self.emsc(), Self.emsc(#","depth":11.7"#, coordinates: "[-0.3771,38.9561]")] {
            let quake = try one(feature)
            #expect(quake.code == "emsc:20261003_0000060")
            #expect(quake[.net] == .text("emsc"))
            #expect(quake.time == Instant("2026-10-03T05:09:14.95Z"))
            #expect(quake.updated == Instant("2026-10-03T05:31:15.720Z"))
            #expect(quake.depth == 11.7)
            #expect(quake.longitude == -0.3771)
            #expect(quake.magnitude == 1.6)
            #expect(quake[.magnitudeType] == .text("ml"))
            #expect(quake[.place] == .text("SPAIN"))
            #expect(quake[.type] == .text("earthquake"))
            #expect(
                quake[.extra]
                    == .json(
                        #"{"source_id":"2068879","source_catalog":"EMSC-RTS","evtype":"ke","auth":"IGN"}"#))
        }
    }

    @Test(
        "A feature with two members of one name, or with another geometry than a point, is rejected and not guessed",
        arguments: [
            #"{"type":"Feature","properties":{"auth":"X"},"#,
            #"{"geometry":{"type":"Point","coordinates":[1,2]},"#,
        ])
    func ambiguous(beginning: String) {
        let feature = Self.emsc()
        let double = beginning + feature.dropFirst()
        #expect(ScanOutcome(document([double])).features.first?.failure?.reason == .duplicate)
        let area = feature.replacing("\"Point\"", with: "\"Polygon\"")
        #expect(
            ScanOutcome(document([area])).features.first?.failure
                == Rejection(.type, "geometry.type is not \"Point\""))
        let untyped = feature.replacing("\"Point\"", with: "null")
        #expect(ScanOutcome(document([untyped])).features.first?.failure?.reason == .type)
        let long = Self.emsc(coordinates: "[1,2,3,4]")
        #expect(
            ScanOutcome(document([long])).features.first?.failure
                == Rejection(.range, "coordinates has more than three elements"))
        let escaped = feature.replacing("\"Point\"", with: #""Po\u0069nt""#)
        #expect(ScanOutcome(document([escaped])).features.first?.failure == nil)
    }

    @Test("A GeoNet event was updated at its modification time, and one without an origin time is rejected")
    func geonet() throws {
        let feature = { (members: String) in
            """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[128.938,-7.286]},"properties":{\
            "publicID":"2026p685142",\(members)"depth":111.8,"magnitude":5.81358031408602,"mmi":-1,\
            "locality":"5580 km north-west of Whangarei","quality":"best"}}
            """
        }
        let time = #""time":"2026-09-11T11:56:23.000Z","#
        let quake = try one(feature(time + #""modificationTime":"2026-09-11T12:27:40.423Z","#))
        #expect(quake.code == "geonet:2026p685142")
        #expect(quake.updated == Instant("2026-09-11T12:27:40.423Z"))
        #expect(quake.depth == 111.8)
        #expect(quake.magnitude == 5.81358031408602)
        #expect(quake[.mmi] == .null)
        #expect(quake[.status] == .text("reviewed"))
        #expect(quake[.extra] == .json(#"{"quality":"best"}"#))
        #expect(try one(feature(time)).updated == Instant("2026-09-11T11:56:23Z"))

        let outcome = ScanOutcome(document([feature("")]))
        #expect(outcome.features[0].failure == Rejection(.missing, "time is missing"))
        #expect(outcome.features[0].source == Array(feature("").utf8))
        outcome.features[0].bytes.withUnsafeBufferPointer {
            #expect(readableCode(of: $0) == "geonet:2026p685142")
        }
    }

    @Test(
        "An event that GeoNet lists as deleted is deleted just after its last revision, if that time is given",
        arguments: [
            (#""modificationTime":"2026-09-11T12:27:40.423Z","#, Instant("2026-09-11T12:27:40.424Z")),
            ("", nil),
        ])
    func deleted(members: String, at: Instant?) {
        let outcome = ScanOutcome(
            document([
                """
                {"type":"Feature","geometry":{"type":"Point","coordinates":[128.938,-7.286]},\
                "properties":{"publicID":"2026p685142",\(members)"quality":"deleted"}}
                """
            ]))
        #expect(
            outcome.features.map(\.deletion) == [
                StatedDeletion(code: "geonet:2026p685142", at: at, service: "service.geonet.org.nz")
            ])
    }

    @Test(
        "A deletion in GeoNet's GeoJSON is rejected if the event's id is invalid",
        arguments: [(#"a\u0000b"#, Rejection.Reason.encoding), (String(repeating: "x", count: 65), .range)])
    func impossibleID(id: String, reason: Rejection.Reason) {
        let feature = #"{"type":"Feature","properties":{"publicID":"\#(id)","quality":"deleted"}}"#
        let outcome = ScanOutcome(document([feature]))
        #expect(outcome.features.map(\.failure?.reason) == [reason])
        #expect(outcome.features.map(\.deletion) == [nil])
    }

    @Test("A feature of the USGS is recognised even if it has members of other agencies")
    func usgs() throws {
        let quake = try one(feature(properties: #""unid":"20261003_0000060","publicID":"x","#))
        #expect(quake.code == "us7000abcd")
        // This also holds at the edge of a chunk, where the decoder cannot measure the feature.
        let document = document([feature(properties: #""unid":"20261003_0000060","#)])
        #expect(ScanOutcome(document, inChunksOf: { 7 }) == ScanOutcome(document, measuring: true))
    }

    @Test(
        "For a broken EMSC feature, the error says which value is wrong",
        arguments: [
            (#""time":"2026-10-03T05:09:14.95Z""#, #""time":"now""#, "time: not a time"),
            (#""time":"2026-10-03T05:09:14.95Z","#, "", "time is missing"),
            (#""mag":1.6"#, #""mag":"strong""#, "mag: expected a number"),
            (#""mag":1.6"#, #""mag":99"#, "mag is beyond ±12"),
            ("[-0.3771,38.9561,-11.7]", "[-0.3771,138,-11.7]", "latitude is beyond ±90"),
        ])
    func rejects(part: String, value: String, message: String) {
        let outcome = ScanOutcome(document([Self.emsc().replacing(part, with: value)]))
        #expect(outcome.features[0].failure?.message.contains(message) == true)
    }

    @Test("The agencies' sample documents are read correctly", .needsAgencySamples)
    func samples() throws {
        let history = ScanOutcome(try AgencySamples.bytes("geonet-history-2026p685142.json"))
        #expect(
            try history.features.map { try $0.result?.get().updated } == [
                Instant("2026-09-11T12:27:40.423Z"), Instant("2026-09-11T12:09:37.676Z"),
                Instant("2026-09-11T12:07:21.857Z"),
            ])
        let missing = ScanOutcome(try AgencySamples.bytes("geonet-quakes-missing-time.json"))
        #expect(missing.features.map { $0.failure?.message } == [nil, nil, "time is missing"])
    }

    private func one(_ feature: String) throws -> Quake {
        let outcome = ScanOutcome(document([feature]))
        if let error = outcome.error { throw error }
        return try #require(outcome.features.first?.result).get()
    }
}
