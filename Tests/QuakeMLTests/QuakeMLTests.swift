import Feed
import Foundation
import FoundationXML
import TestSupport
import Testing

@testable import QuakeML

@Suite("QuakeML")
struct QuakeMLTests {
    @Test("An event has the values of the table, with the depth in metres")
    func values() throws {
        let event = QuakeML.event(
            try quake([
                .magnitude: .number(3.6), .magnitudeType: .text("ml"), .depth: .number(28.9),
                .place: .text("23 km NW of Old Harbor, Alaska"), .status: .text("reviewed"),
                .type: .text("quarry blast"),
                .nst: .integer(12), .rms: .number(0.51), .gap: .number(144), .dmin: .number(0.236),
                .url: .text("https://earthquake.usgs.gov/earthquakes/eventpage/ak1"),
            ]))

        let id = "smi:earthquake.usgs.gov/fdsnws/event/1/query?eventid=ak1"
        let info =
            "<creationInfo><agencyID>ak</agencyID><creationTime>1970-01-01T00:00:02.000Z</creationTime></creationInfo>"
        #expect(
            event == """
                <event publicID="\(id)"><preferredOriginID>\(id)/origin</preferredOriginID>\
                <preferredMagnitudeID>\(id)/magnitude</preferredMagnitudeID><type>quarry blast</type>\
                <description><text>23 km NW of Old Harbor, Alaska</text><type>earthquake name</type></description>\
                <origin publicID="\(id)/origin"><time><value>1970-01-01T00:00:01.000Z</value></time>\
                <latitude><value>20.5</value></latitude><longitude><value>-10.25</value></longitude>\
                <depth><value>28900.0</value></depth><quality><usedStationCount>12</usedStationCount>\
                <standardError>0.51</standardError><azimuthalGap>144.0</azimuthalGap>\
                <minimumDistance>0.236</minimumDistance></quality><evaluationMode>manual</evaluationMode>\
                <evaluationStatus>reviewed</evaluationStatus>\(info)</origin>\
                <magnitude publicID="\(id)/magnitude"><mag><value>3.6</value></mag><type>ml</type>\
                <originID>\(id)/origin</originID>\(info)</magnitude>\(info)</event>

                """)
    }

    @Test("Missing values are left out, and a type that is not in QuakeML is given in a comment")
    func missing() throws {
        let event = QuakeML.event(try quake([.type: .text("Rock <Fall>")]))

        for name in ["magnitude", "depth", "quality", "evaluationMode"] {
            #expect(!event.contains("<\(name)"))
        }
        #expect(
            event.contains("<type>other event</type><comment><text>type: Rock &lt;Fall&gt;</text></comment>")
        )
        #expect(event.contains("publicID=\"smi:local/fdsnws/event/1/query?eventid=ak1\""))
        // Readers that take the first description need at least one.
        #expect(event.contains("<description><text></text><type>earthquake name</type></description>"))
    }

    @Test("An event names the agency of its data and the terms of use, unless the agency is the USGS")
    func attribution() throws {
        let event = QuakeML.event(try quake([.net: .text("gfz")]))
        #expect(
            event.contains(
                "<comment><text>data: GFZ Helmholtz Centre for Geosciences, GEOFON (CC BY 4.0, doi:10.14470/TR560404)</text></comment>"
            ))
        #expect(!QuakeML.event(try quake([.net: .text("gf")])).contains("comment"))
        #expect(!QuakeML.event(try quake([.net: .text("nc")])).contains("comment"))
    }

    @Test("The document is well-formed, and preserves texts with special characters")
    func escaping() throws {
        let texts = ["a<b>&\"c\"'", "line\nbreak\r\nand\ttab", "]]>", "<!--", "Ōmori 🌋 \u{202E}", "\u{85}x"]
        let quakes = try texts.map { try quake([.place: .text($0), .magnitudeType: .text($0)]) }

        let document = QuakeML.head + quakes.map(QuakeML.event).joined() + QuakeML.tail

        let reader = Reader()
        #expect(reader.read(document))
        #expect(reader.texts == texts.flatMap { [$0, "earthquake name"] })
    }

    @Test("Characters that XML does not allow are replaced")
    func forbidden() throws {
        let event = QuakeML.event(try quake([.place: .text("a\u{1}\u{1B}[31m\u{FFFF}b")]))
        #expect(event.contains("<text>a\u{FFFD}\u{FFFD}[31m\u{FFFD}b</text>"))
    }

    @Test("Different codes give different identifiers, and an identifier has only allowed characters")
    func identifiers() throws {
        let codes = [
            "us1", "us 1", "us~201", "us~20 1", "us%201", "us\"1", "uß1", "us/1", "us+1", "us\u{1}1",
        ]
        let ids = try codes.map { code in
            var id: [UInt8] = []
            QuakeML.Event.with(try quake([.code: .text(code)])) { id.append(publicIDOf: $0.code, at: $0.url) }
            return String(decoding: id, as: UTF8.self)
        }

        #expect(Set(ids).count == codes.count)
        for id in ids {
            #expect(
                id.wholeMatch(of: #/smi:local/fdsnws/event/1/query\?eventid=[A-Za-z0-9._~\-]+/#) != nil,
                "\(id)")
        }
    }

    @Test(
        "A depth in metres has the same digits as in kilometres",
        arguments: [
            (28.9, "28900.0"), (0, "0.0"), (-1.1, "-1100.0"), (0.05, "50.0"), (10.1234, "10123.4"),
            (-0.0004, "-0.4"), (700, "700000.0"), (33.333333, "33333.333"),
            (0.00001, "0.01"), (1e17, "1e+20"), (10.123456789012, "10123.456789012"), (-0.5, "-500.0"),
        ])
    func metres(kilometres: Double, metres: String) {
        var text: [UInt8] = []
        text.append(metres: kilometres)
        #expect(String(decoding: text, as: UTF8.self) == metres)
    }

    private func quake(_ values: [Property: Quake.Value]) throws -> Quake {
        let required: [Property: Quake.Value] = [
            .code: .text("ak1"), .net: .text("ak"), .netCode: .text("1"),
            .time: .time(Instant(milliseconds: 1000)), .updated: .time(Instant(milliseconds: 2000)),
            .longitude: .number(-10.25), .latitude: .number(20.5),
        ]
        return try Quake { values[$0] ?? required[$0] ?? .null }
    }

    /// Collects the texts of descriptions.
    private final class Reader: NSObject, XMLParserDelegate {
        private(set) var texts: [String] = []
        private var path: [String] = []

        func read(_ document: String) -> Bool {
            let parser = XMLParser(data: Data(document.utf8))
            parser.delegate = self
            return parser.parse()
        }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            path.append(name)
            if path.dropLast().last == "description" { texts.append("") }
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            path.removeLast()
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            if path.dropLast().last == "description" { texts[texts.count - 1] += text }
        }
    }
}
