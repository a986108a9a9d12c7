import Foundation
import TestSupport
import Testing

@testable import Feed

@Suite("QuakeML of other agencies") struct QuakeMLReadingTests {
    static func document(
        _ events: String..., namespace: String = "1.2", bed: String = "http://quakeml.org/xmlns/bed/1.2",
        parameters: String = ""
    ) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <q:quakeml xmlns:q="http://quakeml.org/xmlns/quakeml/\(namespace)" xmlns="\(bed)" \
        xmlns:catalog="http://anss.org/xmlns/catalog/0.1"><eventParameters publicID="smi:local/x">\
        \(parameters)\(events.joined())</eventParameters></q:quakeml>
        """
    }

    static func origin(
        _ id: String, time: String = "2026-09-11T11:56:22.99Z", depth: String = "107000", more: String = ""
    )
        -> String
    {
        """
        <origin publicID="smi:local/\(id)"><time><value>\(time)</value></time>\
        <longitude><value>128.938</value></longitude><latitude><value>-7.194</value></latitude>\
        <depth><value>\(depth)</value></depth>\(more)</origin>
        """
    }

    static func magnitude(_ id: String, _ value: String, of origin: String? = nil) -> String {
        """
        <magnitude publicID="smi:local/\(id)"><mag><value>\(value)</value></mag><type>Mw</type>\
        \(origin.map { "<originID>smi:local/\($0)</originID>" } ?? "")</magnitude>
        """
    }

    static func event(
        _ parts: String, id: String = "smi:org.gfz-potsdam.de/geofon/gfz2026rvdx", attributes: String = ""
    )
        -> String
    {
        "<event publicID=\"\(id)\" \(attributes)>\(parts)</event>"
    }

    @Test("Values become properties in the table's units, and the rest goes to extra")
    func values() throws {
        let quake = try one(
            Self.event(
                """
                <description><text>248</text><type>Flinn-Engdahl region</type></description>
                <description><text> Banda Sea </text><type>region name</type></description>
                <type>earthquake</type><creationInfo><agencyID>GFZ</agencyID><creationTime>2026-09-11T12:00:42.683102Z</creationTime></creationInfo>
                \(Self.origin("o", more: """
                    <quality><usedPhaseCount>220</usedPhaseCount><usedStationCount>85</usedStationCount>\
                    <standardError>1.09</standardError><azimuthalGap>29.7</azimuthalGap><minimumDistance>5.55</minimumDistance></quality>\
                    <evaluationMode>manual</evaluationMode><evaluationStatus>confirmed</evaluationStatus>\
                    <creationInfo><creationTime>2026-09-11T12:14:24</creationTime></creationInfo>\
                    <originUncertainty><horizontalUncertainty>2387</horizontalUncertainty></originUncertainty>
                    """))
                \(Self.magnitude("m", "5.96"))
                """))
        #expect(quake.code == "gfz:gfz2026rvdx")
        #expect(quake[.url] == .text("https://geofon.gfz.de/eqinfo/event.php?id=gfz2026rvdx"))
        #expect(quake.time == Instant("2026-09-11T11:56:22.99Z"))
        #expect(quake.updated == Instant("2026-09-11T12:14:24Z"))
        #expect(quake.depth == 107)
        #expect(quake.magnitude == 5.96)
        #expect(quake[.magnitudeType] == .text("Mw"))
        #expect(quake[.place] == .text("Banda Sea"))
        #expect(quake[.status] == .text("reviewed"))
        #expect(quake[.nst] == .integer(85))
        #expect(quake[.rms] == .number(1.09))
        #expect(quake[.gap] == .number(29.7))
        #expect(quake[.dmin] == .number(5.55))
        let extra = try #require(quake[.extra].json)
        let members = try #require(JSONSerialization.jsonObject(with: Data(extra.utf8)) as? [String: Any])
        #expect(members["horizontal_uncertainty"] as? Double == 2.387)
        #expect(members["phases"] as? Int == 220)
        #expect(members["evaluation_mode"] as? String == "manual")
        #expect(members["evaluation_status"] as? String == "confirmed")
        #expect(members["agency"] as? String == "GFZ")
        #expect(members["public_id"] as? String == "smi:org.gfz-potsdam.de/geofon/gfz2026rvdx")
    }

    @Test(
        "The preferred origin and magnitude are used, even if the event names them at its end",
        arguments: [false, true])
    func preferred(isFirst: Bool) throws {
        let preference =
            "<preferredOriginID>smi:local/two</preferredOriginID><preferredMagnitudeID>smi:local/m2</preferredMagnitudeID>"
        let parts =
            Self.magnitude("m1", "1", of: "two") + Self.magnitude("m2", "2", of: "one") + Self.origin("one")
            + Self.origin("two", depth: "5347.617825")
        let quake = try one(Self.event(isFirst ? preference + parts : parts + preference))
        #expect(quake.depth == 5.347617825)
        #expect(quake.magnitude == 2)
    }

    @Test(
        "Without a preference, the first origin is used, and that origin's magnitude or else the first magnitude"
    )
    func notPreferred() throws {
        let origins = Self.origin("one") + Self.origin("two", depth: "1000")
        let named = Self.magnitude("m1", "1", of: "two") + Self.magnitude("m2", "2", of: "one")
        #expect(try one(Self.event(origins + named)).magnitude == 2)
        #expect(try one(Self.event(origins + named)).depth == 107)
        #expect(try one(Self.event(origins + Self.magnitude("m1", "1"))).magnitude == 1)
        // A preference for a missing origin is ignored.
        let lost = "<preferredOriginID>smi:local/three</preferredOriginID>"
        #expect(try one(Self.event(lost + origins)).depth == 107)
        #expect(try one(Self.event(origins)).magnitude == nil)
    }

    @Test(
        "A rejected origin is skipped; if it is the preferred one, or all are rejected, the event is deleted")
    func rejectedOrigin() throws {
        let rejected = Self.origin("one", more: "<evaluationStatus>rejected</evaluationStatus>")
        let other = Self.origin("two", depth: "1000")
        let lost = "<preferredOriginID>smi:local/three</preferredOriginID>"
        for parts in [rejected + other, other + rejected, lost + rejected + rejected + other] {
            #expect(try one(Self.event(parts)).depth == 1)
        }
        let preference = "<preferredOriginID>smi:local/one</preferredOriginID>"
        for parts in [rejected + rejected, preference + other + rejected] {
            let outcome = ScanOutcome(Array(Self.document(Self.event(parts)).utf8))
            #expect(outcome.features.map(\.deletion?.code) == ["gfz:gfz2026rvdx"])
        }
    }

    @Test(
        "An ampersand in a public id is one character, however it is written",
        arguments: [("1&amp;2", "1&2"), ("1&#38;2", "1&2"), ("1&#x26;2", "1&2"), ("1&amp;#38;2", "1&#38;2")])
    func ampersands(written: String, read: String) throws {
        let preference = "<preferredOriginID>smi:local/\(written)</preferredOriginID>"
        let origins = Self.origin("o") + Self.origin(written, depth: "1000")
        let quake = try one(Self.event(preference + origins, id: "smi:local/event/\(written)"))
        #expect(quake.depth == 1)
        #expect(quake.code == "local:event/\(read)")
        #expect(quake[.extra].json?.contains("\"public_id\":\"smi:local/event/\(read)\"") == true)
    }

    @Test("The namespaces of every version of QuakeML are accepted, and a time without a Z is in UTC")
    func namespaces() throws {
        for (namespace, bed) in [
            ("1.2", "http://quakeml.org/xmlns/bed/1.2"), ("1.1", "http://quakeml.org/xmlns/bed/1.1"),
            ("1.0", "http://quakeml.org/xmlns/quakeml/1.0"), ("1.2", ""),
        ] {
            let text = Self.document(
                Self.event(Self.origin("o", time: "2026-09-11T11:56:22.99")), namespace: namespace, bed: bed)
            for text in [text, text.replacing("http://quakeml", with: "https://quakeml")] {
                let quake = try #require(try ScanOutcome(Array(text.utf8)).features.first?.result?.get())
                #expect(quake.time == Instant("2026-09-11T11:56:22.99Z"))
            }
        }
    }

    @Test(
        "The code of an event in QuakeML comes from its public id or its catalog attributes",
        arguments: [
            ("smi:org.gfz-potsdam.de/geofon/gfz2026texh", "", "gfz:gfz2026texh"),
            ("smi:org.gfz-potsdam.de/geofon/knmi2026thbl", "", "knmi:knmi2026thbl"),
            ("smi:webservices.ingv.it/fdsnws/event/1/query?eventId=46744251", "", "ingv:46744251"),
            ("quakeml:eu.emsc/event/20260604_0000095", "", "emsc:20260604_0000095"),
            ("smi:ch.ethz.sed/sc25a/Event/2026tjhylr", "", "sed:2026tjhylr"),
            ("smi:nz.org.geonet/2026p737458", "", "geonet:2026p737458"),
            ("smi:ISC/evid=645898639", "", "isc:645898639"),
            ("smi:ca.seismo/event/evid/20260929.1159001", "", "nrcan:20260929.1159001"),
            (
                "quakeml:nc.anss.org/Event/NC/75442121",
                #"catalog:eventsource="nc" catalog:eventid="75442121""#,
                "nc75442121"
            ),
            (
                "quakeml:earthquake.usgs.gov/fdsnws/event/1/query?eventid=us7000abcd&amp;format=quakeml",
                #"catalog:eventsource="us" catalog:eventid="7000abcd" catalog:datasource="us""#, "us7000abcd"
            ),
            ("quakeml:earthquake.usgs.gov/fdsnws/event/1/query?eventid=us7000abcd", "", "us7000abcd"),
            ("smi:local/event/1", "", "local:event/1"),
        ])
    func codes(id: String, attributes: String, code: String) throws {
        #expect(try one(Self.event(Self.origin("o"), id: id, attributes: attributes)).code == code)
    }

    @Test(
        "Only the broken event is rejected, and its text is kept unchanged",
        arguments: [
            (origin("o", time: "yesterday"), "origin/time/value: not a time"),
            (origin("o", depth: "deep"), "origin/depth/value: not a number"),
            (origin("o", depth: "9e9"), "depth is beyond ±6400"), ("", "the event has no origin"),
            (origin("o").replacing("-7.194", with: "-97"), "latitude is beyond ±90"),
            (origin("o").replacing("-7.194", with: ""), "latitude is missing"),
            (origin("o").replacing("-7.194", with: "NaN"), "latitude is missing"),
            (origin("o") + magnitude("m", "99"), "mag is beyond ±12"),
        ])
    func rejects(parts: String, message: String) throws {
        let (good, bad) = (Self.event(Self.origin("o")), Self.event(parts))
        let document = Self.document(good, "<!-- < -->", bad, good)
        let outcome = ScanOutcome(Array(document.utf8))
        #expect(outcome.error == nil)
        #expect(outcome.features.map { $0.failure == nil } == [true, false, true])
        let reject = outcome.features[1]
        #expect(reject.failure?.message.contains(message) == true, "\(String(describing: reject.failure))")
        #expect(reject.source == Array(bad.utf8))
        #expect(
            reject.offset
                == document.utf8.distance(
                    from: document.startIndex, to: document.range(of: bad)!.lowerBound))
        reject.bytes.withUnsafeBufferPointer { #expect(readableCode(of: $0) == "gfz:gfz2026rvdx") }
    }

    @Test(
        "A document is read in the encoding that it declares",
        arguments: ["ISO-8859-1", "UTF-16", "UTF-16LE", "windows-1252"])
    func encodings(name: String) throws {
        let place = "<description><text>Plöckenpaß</text></description>"
        let event = Self.event(place + Self.origin("o"))
        let text = Self.document(event, Self.event(""), event).replacing("UTF-8", with: name)
        let encoding: String.Encoding =
            [
                "ISO-8859-1": .isoLatin1, "UTF-16": .utf16BigEndian, "UTF-16LE": .utf16LittleEndian,
                "windows-1252": .windowsCP1252,
            ][name]!
        var bytes = Array(try #require(text.data(using: encoding)))
        if name == "UTF-16" { bytes = [0xFE, 0xFF] + bytes }
        let outcome = ScanOutcome(bytes)
        #expect(outcome.error == nil)
        #expect(try outcome.features[0].result?.get()[.place] == .text("Plöckenpaß"))
        #expect(try outcome.features[2].result?.get()[.place] == .text("Plöckenpaß"))
        let reject = outcome.features[1]
        #expect(reject.source == Array(Self.event("").data(using: encoding)!))
        #expect(reject.source == Array(bytes[reject.offset..<reject.offset + reject.size]))
    }

    @Test(
        "For a document that is not valid QuakeML, the error says why",
        arguments: [
            (
                "<EQMessage xmlns=\"http://www.usgs.gov/ansseqmsg\"></EQMessage>",
                "the root element is <EQMessage>"
            ),
            (
                "<quakeml xmlns=\"http://other\"><eventParameters/></quakeml>",
                "the root element <quakeml> is not in a namespace of QuakeML"
            ),
            ("<?xml version=\"1.0\"?><html></html>", "an HTML page"),
            ("<?xml version=\"1.0\"?><!DOCTYPE html><html></html>", "an HTML page"),
            ("<quakeml><eventParameters>", "not well-formed XML"),
            ("<quakeml></wrong>", "not well-formed XML"),
            ("<quakeml>&undeclared;</quakeml>", "not well-formed XML"),
            ("<quakeml>\u{1}</quakeml>", "not well-formed XML"),
            ("<!DOCTYPE q [<!ENTITY a \"b\">]><quakeml/>", "declares a document type"),
        ])
    func otherDocuments(text: String, reason: String) throws {
        let error = try #require(ScanOutcome(Array(text.utf8)).error)
        #expect("\(error)".contains(reason), "\(error)")
        #expect(ScanOutcome(Array(text.utf8), inChunksOf: { 1 }).error == error)
    }

    @Test("A word for a missing value is null", arguments: ["--", "None", "null", "N/A"])
    func nothing(word: String) throws {
        let text =
            "<type>\(word)</type><description><text>\(word)</text><type>region name</type></description>"
            + "<description><text>Banda Sea</text><type>Flinn-Engdahl region</type></description>"
            + Self.origin("o", more: "<creationInfo><agencyID>\(word)</agencyID></creationInfo>")
        let quake = try one(Self.event(text))
        #expect(quake[.type] == .null)
        #expect(quake[.place] == .text("Banda Sea"))
        #expect(quake[.extra].json?.contains(word) == false)
    }

    @Test("Mechanisms and moment tensors are kept in extra")
    func mechanisms() throws {
        let plane = { (n: Int) in
            "<nodalPlane\(n)><strike><value>\(n)0</value></strike><dip><value>\(n)1</value></dip><rake><value>-\(n)2</value></rake></nodalPlane\(n)>"
        }
        let quake = try one(
            Self.event(
                Self.origin("o") + Self.magnitude("m", "5.9") + """
                    <focalMechanism publicID="smi:local/f"><nodalPlanes>\(plane(1))\(plane(2))</nodalPlanes>\
                    <momentTensor><scalarMoment><value>9.6e17</value></scalarMoment><tensor><Mrr><value>1e17</value></Mrr></tensor>\
                    <doubleCouple>0.97</doubleCouple></momentTensor></focalMechanism>
                    """))
        let extra = try #require(quake[.extra].json)
        #expect(
            extra.contains(
                #""focal_mechanism":{"strike1":10,"dip1":11,"rake1":-12,"strike2":20,"dip2":21,"rake2":-22,"scalar_moment":9.6e17,"mrr":1e17,"double_couple":0.97,"mw":5.9}"#
            ), "\(extra)")
    }

    @Test("The agencies' sample documents are read correctly", .needsAgencySamples)
    func samples() throws {
        func first(_ name: String) throws -> Quake {
            try #require(try ScanOutcome(AgencySamples.bytes(name)).features.first?.result).get()
        }
        let geofon = try first("quakeml-geofon-two-origins.xml")
        #expect(geofon.code == "gfz:gfz2026rvdx")
        #expect(geofon.depth == 107)
        #expect(geofon.magnitude == 5.96)
        #expect(geofon.updated == Instant("2026-09-11T12:14:24.252Z"))
        let usgs = try first("quakeml-usgs-pde-arrivals.xml")
        #expect(usgs.code == "pde20000102042021390_33")
        #expect(usgs.depth == 33)
        #expect(try first("quakeml-sed-seiscomp.xml")[.net] == .text("sed"))
    }

    @Test(
        "An event that does not exist, or whose origin was rejected, is deleted (just after its creation time, if one is given)",
        arguments: [
            ("<type>not existing</type>" + origin("o"), nil as Instant?),
            // The event may have no other elements.
            ("<type>not existing</type>", nil),
            (
                """
                <type>not existing</type><creationInfo><creationTime>2026-09-11T12:00:00Z</creationTime></creationInfo>
                """, Instant("2026-09-11T12:00:00.001Z")
            ),
            (origin("o", more: "<evaluationStatus>rejected</evaluationStatus>"), nil),
        ])
    func gone(parts: String, at: Instant?) {
        let outcome = ScanOutcome(Array(Self.document(Self.event(parts)).utf8))
        #expect(
            outcome.features.map(\.deletion) == [
                StatedDeletion(code: "gfz:gfz2026rvdx", at: at, service: "geofon.gfz.de")
            ])
    }

    @Test("In the NCEDC's QuakeML, an event whose position and magnitude are zero was withdrawn")
    func zeros() {
        let parts = "<latitude><value>0</value></latitude><longitude><value>0.0</value></longitude>"
        let event = Self.event(
            "<origin publicID=\"smi:local/o\"><time><value>2026-09-11T11:56:22Z</value></time>\(parts)</origin>"
                + Self.magnitude("m", "0"),
            id: "quakeml:service.ncedc.org/fdsnws/event/1/query?eventid=75442121",
            attributes: "catalog:eventsource=\"nc\" catalog:eventid=\"75442121\"")
        #expect(
            ScanOutcome(Array(Self.document(event).utf8)).features.map(\.deletion) == [
                StatedDeletion(code: "nc75442121", at: nil, service: "service.ncedc.org")
            ])
    }

    @Test("The code of an event that ObsPy converted from another format contains the event's name")
    func namedBefore() throws {
        for name in ["M010176A", "C010576A"] {
            let quake = try one(
                Self.event(Self.origin("o") + Self.magnitude("m", "7"), id: "smi:local/ndk/\(name)/event"))
            #expect(quake.code.hasSuffix(name), "\(quake.code)")
        }
    }

    @Test(
        "The creation time of a document may have any white space around it",
        arguments: ["", " ", "\n\t\r\n    "])
    func made(space: String) {
        let made =
            "<creationInfo><creationTime>\(space)2026-09-11T12:00:00Z\(space)</creationTime></creationInfo>"
        let outcome = ScanOutcome(Array(Self.document(parameters: made).utf8))
        #expect(outcome.metadata.generated == Instant("2026-09-11T12:00:00Z"))
    }

    private func one(_ event: String) throws -> Quake {
        let outcome = ScanOutcome(Array(Self.document(event).utf8))
        if let error = outcome.error { throw error }
        return try #require(outcome.features.first?.result).get()
    }
}
