import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import QuakeServer
@testable import QuakeStore

/// That no parameter is forgotten. Each one is tested at three places:
///
/// - `EventRequestTests`: under each of its names, it sets what it should, and a wrong value is refused in words.
/// - `EventSelectionTests`: random requests give what an independent selection gives; or another test, named in `elsewhere`.
/// - `EventClientTests`: ObsPy, libcomcat and QQuake send those that they know.
@Suite("The parameters of the event service")
struct EventParameterTests {
    /// Of fdsnws-event 1.2.
    static let standard = [
        "starttime", "endtime", "minlatitude", "maxlatitude", "minlongitude", "maxlongitude", "latitude",
        "longitude",
        "minradius", "maxradius", "mindepth", "maxdepth", "minmagnitude", "maxmagnitude", "magnitudetype",
        "eventtype",
        "includeallorigins", "includeallmagnitudes", "includearrivals", "eventid", "limit", "offset",
        "orderby", "catalog",
        "contributor", "updatedafter", "format", "nodata",
    ]

    /// What the USGS's service adds (https://earthquake.usgs.gov/fdsnws/event/1/), but for `jsonerror`.
    static let usgs = [
        "minradiuskm", "maxradiuskm", "includedeleted", "includesuperseded", "alertlevel", "maxcdi", "maxgap",
        "maxmmi",
        "maxsig", "mincdi", "minfelt", "mingap", "minmmi", "minsig", "producttype", "productcode",
        "reviewstatus", "callback", "kmlcolorby", "kmlanimated",
    ]

    /// The parameters that do not change which events are selected, with the tests of what they do.
    static let elsewhere: [EventParameter: String] = [
        .nodata: "EventAnswerTests.empty", .includesuperseded: "EventRequestTests.mistake",
        .includeallorigins: "EventRequestTests.meaning", .includeallmagnitudes: "EventRequestTests.meaning",
        .merge: "EarthquakeAnswerTests.merge", .includeearthquake: "EarthquakeAnswerTests.named",
        .includearrivals: "EventRequestTests.meaning", .callback: "EventClientTests.forms",
        .kmlcolorby: "EventClientTests.forms", .kmlanimated: "EventClientTests.forms",
    ]

    @Test("Those of the standard and of the USGS are all there, and three of our own")
    func complete() {
        let names = EventParameter.allCases.map(\.rawValue)
        #expect(Set(names) == Set(Self.standard + Self.usgs + ["asof", "merge", "includeearthquake"]))
    }

    /// So many that each parameter is among them.
    private static func requests() throws -> [RandomRequest] {
        var document: [UInt8] = []
        SampleFeed(count: 200, seed: 1).write { document.append(contentsOf: $0) }
        let quakes = try decodedQuakes(String(decoding: document, as: UTF8.self))
        return (0..<2000).map { RandomRequest(SplitMix64(seed: $0), quakes: quakes, tokens: [1]) }
    }

    @Test("What a parameter looks at comes with each change, so that live streams can be filtered by it")
    func followed() throws {
        let used = try Self.requests().reduce(into: Set<Property>()) { used, request in
            used.formUnion(try EventRequest(.query, request.query).selection.properties)
        }
        #expect(used.count > 10)
        #expect(used.subtracting(PassChange.properties) == [])
    }

    @Test("Each one is compared with an independent selection, or has its own test")
    func tested() throws {
        let used = try Set(Self.requests().flatMap { $0.parameters.map(\.name) })
        for parameter in EventParameter.allCases {
            let isUsed = used.contains(parameter.rawValue) || parameter.alias.map(used.contains) ?? false
            #expect(isUsed != (Self.elsewhere[parameter] != nil), "\(parameter)")
        }
    }

    @Test("Each one is told in the documentation, with its other name")
    func documented() throws {
        let page = projectFile("docs/event-service.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("| `")
        }
        for parameter in EventParameter.allCases {
            let row = try #require(rows.first { $0.contains("`\(parameter)`") }, "\(parameter)")
            let aliases = row.split(separator: "|")[1]
            if let alias = parameter.alias { #expect(aliases.contains("`\(alias)`"), "\(alias)") }
        }
    }
}
