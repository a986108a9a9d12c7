import TestSupport
import Testing

@testable import Feed

@Suite("Owners of event ids") struct EventNameTests {
    /// A row of text as IRIS writes it. IRIS gives events of other agencies its own numbers; the ContributorID is the USGS's id.
    static func row(
        _ id: String = "10998811", author: String = "us", catalog: String = "NEIC PDE",
        contributor: String = "us", contributorID: String = "us2000j82f"
    ) -> String {
        "\(id)|2019-01-24T00:52:38|-15.1354|-173.4036|10.0|\(author)|\(catalog)|\(contributor)|\(contributorID)|mb|5.5|us|TONGA ISLANDS"
    }
    static let header = TextTests.header.replacing("|EventType", with: "")

    @Test(
        "A numeric id in text has an unknown owner, even if a contributor is named, and its code contains the day",
        arguments: [
            row(), row(contributor: "NEIC"),
            row(catalog: "ISC", contributor: "ISC", contributorID: "2844986"),
            row(author: "ISC", contributorID: "7"), row(catalog: "EMSC-RTS", contributor: "EMSC"),
            row(author: "SURVEY-INGV", catalog: "", contributor: ""), row(author: "gfz", contributor: "GFZ"),
            row(author: "NC", catalog: "NCSS", contributor: "NC"), row(author: "GCMT", contributor: "GCMT"),
            row(author: "GNS", catalog: "GNS", contributor: "WEL"),
            row(author: "", catalog: "", contributor: ""),
        ])
    func workers(row: String) throws {
        let outcome = ScanOutcome(Array("\(Self.header)\n\(row)\n".utf8))
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.code == "unknown:10998811@2019-01-24")
        #expect(quake[.net] == .text("unknown"))
        #expect(quake[.url] == .null)
        #expect(
            outcome.notes == [
                "the document does not say which agency gave the id of 1 event; such events get codes that contain the day (unknown:10998811@2019-01-24), and no service deletes them; an import from the agency's own event service gives them the agency's codes"
            ])
    }

    @Test(
        "An id of ComCat in the form of SeisComP, or with two digits, is recognized if the document names its network",
        arguments: [("ak2025wtbkbf", "ak"), ("at00pubexo", "at"), ("nn2026slmipb", "nn")])
    func namedNetwork(id: String, net: String) throws {
        let quake = try #require(
            TextTests.quakes(Self.header, Self.row(id, author: net, catalog: net, contributor: net)).first)
        #expect(quake.code == id && quake[.net].text == net)
        // Without a name, an id in the form of SeisComP may be any agency's.
        let nameless = Self.row("pt2026wxyz", author: "", catalog: "", contributor: "")
        #expect(try TextTests.quakes(Self.header, nameless).first?.code == "unknown:pt2026wxyz")
        #expect(FeedIdentity.host(of: quake[.url].text) == "earthquake.usgs.gov")
    }

    @Test(
        "The agencyID and the author in QuakeML do not determine the owner of an event's id",
        arguments: ["GCMT", "ISC", "us", "GFZ", "EMSC", "NC", "INGV", "NEIC PDE-W"])
    func agencyIDs(agency: String) throws {
        for (id, code, url) in [
            ("smi:local/ndk/M010176A/event", "local:ndk/M010176A", nil),
            (
                "smi:local/4d5a7c9e-0000-4000-8000-000000000000",
                "local:4d5a7c9e-0000-4000-8000-000000000000", nil
            ),
            ("smi:www.iris.edu/ws/event/query?eventId=2844986", "www.iris.edu:2844986", nil),
            // In lower case, İ has more bytes.
            ("smi:www.iris.edu/ws/İ/query?eventId=2844986", "www.iris.edu:2844986", nil),
            (
                "smi:service.iris.edu/fdsnws/event/1/query?eventid=2844986", "service.iris.edu:2844986",
                "https://service.iris.edu/fdsnws/event/1/query?eventid=2844986"
            ),
            ("2844986", "unknown:2844986@2026-09-11", nil),
        ] as [(String, String, String?)] {
            let quake = try Self.quakeML(id, agency: agency)
            #expect(quake.code == code)
            #expect(quake[.net].text.map { code.hasPrefix("\($0):") } == true)
            #expect(quake[.url].text == url)
        }
    }

    @Test(
        "An id in the form of an agency's ids belongs to that agency, even if others contributed to the event",
        arguments: [
            ("gfz2026texh", "gfz:gfz2026texh", "geofon.gfz.de"),
            ("20260604_0000095", "emsc:20260604_0000095", "www.seismicportal.eu"),
            ("20260929.1159001", "nrcan:20260929.1159001", "earthquakescanada.nrcan.gc.ca"),
            ("2026p737458", "geonet:2026p737458", "service.geonet.org.nz"),
            ("smi:ch.ethz.sed/sc25a/Event/2026tjhylr", "sed:2026tjhylr", "eida.ethz.ch"),
            ("smi:ISC/evid=645898639", "isc:645898639", "www.isc.ac.uk"),
            ("smi:geonet.org.nz/event/3471662", "geonet:3471662", "service.geonet.org.nz"),
            // Another Quakes server writes these ids.
            ("gfz:gfz2026texh", "gfz:gfz2026texh", "geofon.gfz.de"),
            ("local:ndk/M010176A", "local:ndk/M010176A", nil),
            ("unknown:7@2026-01-01", "unknown:7@2026-01-01", nil),
            // These ids have ComCat's form, and their network has contributed to the event.
            ("us7000abcd", "us7000abcd", "earthquake.usgs.gov"),
            ("usc000lvb5", "usc000lvb5", "earthquake.usgs.gov"),
            // SeisComP makes ids of this form. Ids of the Texan network are ComCat's, but ids of the Swedish network are not.
            ("tx2022mrop", "tx2022mrop", "earthquake.usgs.gov"), ("xyz2026abcd", "xyz:xyz2026abcd", nil),
            ("se2026abcd", "unknown:se2026abcd", nil),
            // These ids only begin like ComCat's.
            ("nc75442121", "unknown:nc75442121@2019-01-24", nil),
            ("usgs-1", "unknown:usgs-1@2019-01-24", nil),
            ("M010176A", "unknown:M010176A@2019-01-24", nil),
            // An authority that equals the agency's name, or begins with it, does not prove that the id is the agency's.
            ("smi:ISCGEM/evid=1", "unknown:iscgem/1", nil),
            ("smi:us/event/1", "unknown:us/event/1", nil),
            ("smi:earthquake.usgs.govern/1", "earthquake.usgs.govern:1", nil),
            // Only an id in the form of a query to an event service names the service's host.
            ("smi:A-1.Example.org/fdsnws/event/1/query?eventid=7&x", "a-1.example.org:7", "a-1.example.org"),
            ("smi:example.org/fdsnws/event/2/query?eventid=7", "example.org:7", nil),
            ("smi:example.org/fdsnws/event/1/query/?eventid=7", "example.org:7", nil),
            ("smi:example.o1/fdsnws/event/1/query?eventid=7", "example.o1:7", nil),
            ("smi:example.o/fdsnws/event/1/query?eventid=7", "example.o:7", nil),
            ("smi:localhost/fdsnws/event/1/query?eventid=7", "localhost:7", nil),
            ("smi:.org/fdsnws/event/1/query?eventid=7", ".org:7", nil),
            // Only an id that begins with a name in lower case comes from another Quakes server.
            ("a-1.b:c:d", "a-1.b:c:d", nil), ("GFZ:1", "unknown:GFZ:1@2019-01-24", nil),
            (":1", "unknown::1@2019-01-24", nil), ("gfz:", "unknown:gfz:@2019-01-24", nil),
        ])
    func forms(id: String, code: String, host: String?) throws {
        let quake = try #require(TextTests.quakes(Self.header, Self.row(id)).first)
        #expect(quake.code == code)
        #expect(FeedIdentity.host(of: quake[.url].text) == host)
    }

    @Test("An id of ComCat may end in an underscore and a number")
    func numbered() throws {
        for network in ["official", "pde"] {
            let id = "\(network)20110311054624120_30"
            let row = Self.row(id, author: network, catalog: network, contributor: network)
            #expect(try TextTests.quakes(Self.header, row).first?.code == id)
        }
    }

    @Test(
        "A code that another server gives has the URL of the event there, unless it is not known whose the event is",
        arguments: [
            ("ssn:5", "https://example.org/fdsnws/event/1/query?eventid=ssn:5"),
            ("unknown:7@2026-01-01", nil),
            ("local:ndk/M010176A", nil),
        ])
    func codesOfAnotherServer(id: String, url: String?) throws {
        let outcome = ScanOutcome(Array("\(Self.header)\n\(Self.row(id))\n".utf8), host: "example.org")
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.code == id)
        #expect(quake[.url].text == url)
    }

    @Test("Different identifiers give different codes")
    func distinct() throws {
        let ids = [
            "smi:local/a/event/1", "smi:local/b/event/1", "smi:local/event/1", "smi:x.org/event/1",
            "smi:us/1",
            "smi:isc/1/x", "smi:org.gfz-potsdam.de/geofon/1", "smi:org.gfz-potsdam.de/x/1", "1", "us1",
            "us:1",
        ]
        let codes = try ids.map { try Self.quakeML($0, agency: "us").code }
        #expect(Set(codes).count == ids.count, "\(codes)")
        // The same number on another day belongs to another event.
        let other = Self.row().replacing("2019-01-24", with: "2010-02-27")
        #expect(Set(try TextTests.quakes(Self.header, Self.row(), other).map(\.code)).count == 2)
    }

    @Test(
        "An id in a service's text or QuakeML belongs to the service, unless the id itself names an agency",
        arguments: [
            ("www.isc.ac.uk", "645898639", "isc:645898639"),
            ("webservices.ingv.it", "46744251", "ingv:46744251"),
            ("service.ncedc.org", "75442121", "nc75442121"),
            ("service.scedc.caltech.edu", "41341359", "ci41341359"),
            ("earthquake.usgs.gov", "us2000j82f", "us2000j82f"),
            ("earthquake.usgs.gov", "ak0256mi6d9a", "ak0256mi6d9a"),
            ("service.iris.edu", "10998811", "service.iris.edu:10998811"),
            ("seismo.example.org", "ex2026abcd", "ex:ex2026abcd"),
            ("seismo.example.org", "gfz2026abcd", "gfz:gfz2026abcd"),
        ])
    func asked(host: String, id: String, code: String) throws {
        let text = ScanOutcome(Array("\(Self.header)\n\(Self.row(id))\n".utf8), host: host)
        #expect(try text.features[0].result?.get().code == code)
        #expect(text.notes == [])
        let event = QuakeMLReadingTests.event(
            QuakeMLReadingTests.origin("o"), id: "smi:org.gfz-potsdam.de/geofon/\(id)")
        let quakeML = ScanOutcome(Array(QuakeMLReadingTests.document(event).utf8), host: host)
        #expect(try quakeML.features[0].result?.get().code == code)
    }

    @Test(
        "A URL determines the owner of ids only if it is an event service's query",
        arguments: [
            ("https://www.isc.ac.uk/fdsnws/event/1/query?format=text", "www.isc.ac.uk"),
            ("https://www.isc.ac.uk/fdsnws/event/1/query", "www.isc.ac.uk"),
            ("https://www.isc.ac.uk/iscgem/catalogue.txt", nil),
            ("https://example.org/?/fdsnws/event/1/query", nil),
        ])
    func answers(url: String, host: String?) throws {
        var scanner = DocumentScanner(of: .url(url))
        var codes: [String] = []
        let document = Array("\(Self.header)\n\(Self.row())\n".utf8)
        _ = try document.withUnsafeBufferPointer {
            try scanner.scan($0) { feature in
                codes += [readableCode(of: feature.bytes)].compactMap(\.self)
                return true
            }
        }
        #expect(codes == [host == nil ? "unknown:10998811@2019-01-24" : "isc:10998811"])
    }

    /// ObsPy keeps the name of a document that Quakes wrote when other events are added.
    @Test(
        "If a program adds events to QuakeML that Quakes wrote, they are read like those of any other document"
    )
    func added() throws {
        let own = "smi:local/fdsnws/event/1/query?eventid=gfz~3agfz2026texh"
        let withdrawn = QuakeMLReadingTests.event(
            "<type>not existing</type>" + QuakeMLReadingTests.origin("o"),
            id: "smi:webservices.ingv.it/fdsnws/event/1/query?eventId=7")
        let events = [
            QuakeMLReadingTests.event(
                "<preferredOriginID>smi:local/mine</preferredOriginID><creationInfo><agencyID>gfz</agencyID></creationInfo>"
                    + QuakeMLReadingTests.origin("x").replacing("smi:local/x", with: "\(own)/origin")
                    + QuakeMLReadingTests.origin("mine", depth: "3000"),
                id: own),
            QuakeMLReadingTests.event(
                "<creationInfo><agencyID>gfz</agencyID></creationInfo>" + QuakeMLReadingTests.origin("o"),
                id: "smi:local/ndk/M010176A/event"),
            QuakeMLReadingTests.event(
                QuakeMLReadingTests.origin("o", more: "<evaluationMode>manual</evaluationMode>"),
                id: "smi:service.iris.edu/fdsnws/event/1/query?eventid=46744251"),
            withdrawn,
        ]
        let text = QuakeMLReadingTests.document(events.joined())
            .replacing("publicID=\"smi:local/x\"", with: "publicID=\"smi:local/quakes/catalogue\"")
        let outcome = ScanOutcome(Array(text.utf8))
        let quakes = try outcome.features.compactMap { try $0.result?.get() }
        #expect(
            quakes.map(\.code) == ["gfz:gfz2026texh", "local:ndk/M010176A", "service.iris.edu:46744251"])
        #expect(quakes.map { $0[.extra] == .null } == [true, false, false])
        #expect(quakes.first?.depth == 3, "a program may add an origin to an event of Quakes")
        #expect(outcome.features.compactMap(\.deletion).count == 1)
    }

    @Test(
        "An event that Quakes wrote keeps its own magnitude, and is rejected if it has only that of another event",
        arguments: [(["own", "other"], 4), (["other"], nil), (["own"], 4), (["added"], 6)]
            as [([String], Double?)])
    func merged(magnitudes: [String], value: Double?) throws {
        let own = "smi:local/fdsnws/event/1/query?eventid=us1"
        let ids = [
            "own": "\(own)/magnitude", "other": "smi:local/fdsnws/event/1/query?eventid=gfz~3a1/magnitude",
            "added": "smi:local/added",
        ]
        let values = ["own": 4, "other": 5, "added": 6]
        var parts = "<preferredOriginID>\(own)/origin</preferredOriginID>"
        parts += "<preferredMagnitudeID>\(ids[magnitudes.last ?? ""] ?? "")</preferredMagnitudeID>"
        parts += QuakeMLReadingTests.origin("x").replacing("smi:local/x", with: "\(own)/origin")
        for name in magnitudes {
            parts += QuakeMLReadingTests.magnitude("m", "\(values[name] ?? 0)")
                .replacing("smi:local/m", with: ids[name] ?? "")
        }
        let text = QuakeMLReadingTests.document(QuakeMLReadingTests.event(parts, id: own))
        let result = try #require(ScanOutcome(Array(text.utf8)).features.first?.result)
        if let value {
            #expect(try result.get().magnitude == value)
        } else {
            #expect(throws: Rejection.self) { try result.get() }
        }
    }

    @Test("A GeoJSON feature with a publicID belongs to GeoNet only if the publicID has GeoNet's form")
    func geoJSON() throws {
        let feature = { (id: String) in
            """
            {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"publicID":"\(id)",\
            "time":"2026-09-11T11:56:23.000Z","magnitude":5,"locality":"here"}}
            """
        }
        let ids = ["2026p685142", "ineter2026abcd", "smi:local/7", "7"]
        let outcome = ScanOutcome(document(ids.map(feature)))
        #expect(
            try outcome.features.map { try $0.result?.get().code } == [
                "geonet:2026p685142", "ineter:ineter2026abcd", "local:7", "unknown:7@2026-09-11",
            ])
    }

    @Test("The ids in users' sample files determine the owners of the events", .needsFieldSamples)
    func samples() throws {
        let iris = ScanOutcome(try FieldSamples.bytes("text-contributor-is-not-owner.txt"))
        #expect(try iris.features.map { try $0.result?.get().code } == ["unknown:10998811@2019-01-24"])
        let quake = try #require(
            try ScanOutcome(FieldSamples.bytes("gcmt-as-obspy-writes-it.xml")).features.first?.result?.get())
        #expect(quake.code == "local:ndk/M010176A")
        #expect(quake[.url] == .null)
        #expect(quake[.place] == .text("KERMADEC ISLANDS REGION"))
    }

    private static func quakeML(_ id: String, agency: String) throws -> Quake {
        let info = "<creationInfo><agencyID>\(agency)</agencyID><author>\(agency)</author></creationInfo>"
        let event = QuakeMLReadingTests.event(
            info + QuakeMLReadingTests.origin("o", more: info), id: id.replacing("&", with: "&amp;"))
        let outcome = ScanOutcome(Array(QuakeMLReadingTests.document(event).utf8))
        if let error = outcome.error { throw error }
        return try #require(outcome.features.first?.result).get()
    }
}
