import TestSupport
import Testing

@testable import Feed

/// Reads QuakeML that differs from the standard: other units, several descriptions, text between the events.
@Suite("Non-standard QuakeML") struct KeptQuakeMLTests {
    /// A document of QuakeML 1.0, as GeoNet writes it.
    private func first(_ event: String) -> ScanOutcome {
        let namespace = "http://quakeml.org/xmlns/quakeml/1.0"
        return ScanOutcome(
            Array(
                "<quakeml xmlns=\"\(namespace)\"><eventParameters publicID=\"smi:local/x\">\(event)</eventParameters></quakeml>"
                    .utf8))
    }

    @Test(
        "QuakeML 1.0 gives depths, uncertainties and distances in kilometres; distances are converted to degrees"
    )
    func kilometres() throws {
        let parts = QuakeMLReadingTests.origin(
            "o", depth: "70.8886",
            more: """
                <quality><minimumDistance>22.04</minimumDistance></quality>\
                <originUncertainty><horizontalUncertainty>2.5</horizontalUncertainty></originUncertainty>
                """
        ).replacing("70.8886</value>", with: "70.8886</value><uncertainty>1.5</uncertainty>")
        let event = QuakeMLReadingTests.event(parts, id: "smi:geonet.org.nz/event/3471662")
        let quake = try #require(try first(event).features.first?.result?.get())
        #expect(quake.depth == 70.8886)
        #expect(quake[.dmin] == .number(0.19821))
        let extra = try #require(quake[.extra].json)
        #expect(extra.contains(#""horizontal_uncertainty":2.5,"depth_uncertainty":1.5"#), "\(extra)")
        #expect(first(event).notes == [])
        // In QuakeML 1.2, the same numbers are metres and degrees.
        let metres = try one(event)
        #expect(metres.depth == 0.0708886)
        #expect(metres[.dmin] == .number(22.04))
    }

    @Test(
        "Depths are in metres in EMSC's QuakeML 1.0, and in kilometres in QuakeML 1.2 from IRIS's first service"
    )
    func otherUnits() throws {
        let emsc = QuakeMLReadingTests.event(
            QuakeMLReadingTests.origin(
                "o", depth: "700", more: "<quality><minimumDistance>2.45</minimumDistance></quality>"),
            id: "quakeml:eu.emsc/event/20120404_0000041")
        let quake = try #require(try first(emsc).features.first?.result?.get())
        #expect(quake.depth == 0.7)
        #expect(quake[.dmin] == .number(2.45))
        let iris = QuakeMLReadingTests.event(
            QuakeMLReadingTests.origin("o", depth: "29.0"),
            id: "smi:www.iris.edu/ws/event/query?eventId=3279407")
        #expect(try one(iris).depth == 29)
    }

    @Test("A depth in QuakeML 1.0 that is impossible in kilometres is read as metres, with a note")
    func tooDeep() throws {
        let events = ["700", "107000", "1000.5"].map {
            QuakeMLReadingTests.event(QuakeMLReadingTests.origin("o", depth: $0))
        }
        let outcome = first(events.joined())
        #expect(try outcome.features.map { try $0.result?.get().depth } == [700, 107, 1.0005])
        #expect(outcome.notes.count == 1)
        #expect(outcome.notes.first?.contains("but 2 can only be metres") == true)
    }

    @Test(
        "The place is a region if one is named, or else the event's name, but never a list of cities",
        arguments: [
            (
                [("Flinn-Engdahl region", "KERMADEC ISLANDS"), ("earthquake name", "M010176A")],
                "KERMADEC ISLANDS" as String?
            ),
            (
                [
                    ("earthquake name", "M010176A"), ("region name", "Kermadec"),
                    ("Flinn-Engdahl region", "x"),
                ], "Kermadec"
            ),
            ([("earthquake name", "M010176A"), ("Region Name", "Kermadec")], "Kermadec"),
            ([("earthquake name", "M010176A"), ("", "Kermadec")], "Kermadec"),
            (
                [("nearest cities", "12 km N of A; 40 km S of B"), ("earthquake name", "10 km N of A")],
                "10 km N of A"
            ),
            ([("nearest cities", "12 km N of A; 40 km S of B")], nil),
            ([("tectonic summary", "Long ago"), ("felt report", "Felt")], nil),
            ([("Flinn-Engdahl region", "248"), ("earthquake name", "Kobe")], "Kobe"),
        ])
    func places(descriptions: [(String, String)], place: String?) throws {
        let parts = descriptions.map { type, text in
            "<description><text>\(text)</text>\(type.isEmpty ? "" : "<type>\(type)</type>")</description>"
        }
        #expect(
            try one(QuakeMLReadingTests.event(parts.joined() + QuakeMLReadingTests.origin("o")))[.place].text
                == place)
    }

    @Test("Any QuakeML document without events is accepted")
    func noEvents() {
        for text in [
            QuakeMLReadingTests.document(),
            QuakeMLReadingTests.document(parameters: "<description>none</description>"),
            "<quakeml><eventParameters/></quakeml>", "<quakeml/>",
        ] {
            let outcome = ScanOutcome(Array(text.utf8))
            #expect(outcome.error == nil && outcome.features.isEmpty && !outcome.isIncomplete)
        }
    }

    @Test("Text between the events makes the document incomplete")
    func strayText() {
        let warning = "<br />\n<b>Warning</b>:  mysql_query(): gone away in <b>q.php</b><br />\n"
        let event = QuakeMLReadingTests.event(QuakeMLReadingTests.origin("o"))
        for document in [
            QuakeMLReadingTests.document(event, warning), QuakeMLReadingTests.document(warning, event),
        ] {
            let outcome = ScanOutcome(Array(document.utf8))
            #expect(outcome.features.count == 1 && outcome.isIncomplete)
        }
        #expect(
            !ScanOutcome(Array(QuakeMLReadingTests.document(event, "\n <!-- fine -->\n", event).utf8))
                .isIncomplete)
    }

    @Test("A user's sample file in kilometres is read correctly", .needsFieldSamples)
    func fieldSamples() throws {
        let outcome = ScanOutcome(try FieldSamples.bytes("quakeml-1.0-kilometres.xml"))
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.depth == 70.8886 && quake[.dmin] == .number(0.19821))
    }

    private func one(_ event: String) throws -> Quake {
        let outcome = ScanOutcome(Array(QuakeMLReadingTests.document(event).utf8))
        if let error = outcome.error { throw error }
        return try #require(outcome.features.first?.result).get()
    }
}
