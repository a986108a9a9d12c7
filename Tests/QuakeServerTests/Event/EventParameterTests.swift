import Foundation
import QuakeStore
import SampleFeed
import TestSupport
import Testing

@testable import QuakeServer

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
        .includearrivals: "EventRequestTests.meaning", .callback: "EventClientTests.forms",
        .kmlcolorby: "EventClientTests.forms", .kmlanimated: "EventClientTests.forms",
    ]

    @Test("Those of the standard and of the USGS are all there, and one of our own")
    func complete() {
        let names = EventParameter.allCases.map(\.rawValue)
        #expect(Set(names) == Set(Self.standard + Self.usgs + ["asof"]))
    }

    @Test("Each one is compared with an independent selection, or has a test of its own")
    func tested() throws {
        var document: [UInt8] = []
        SampleFeed(count: 200, seed: 1).write { document.append(contentsOf: $0) }
        let quakes = try decodedQuakes(String(decoding: document, as: UTF8.self))
        var used: Set<String> = []
        for seed in 0..<2000 {
            let request = RandomRequest(SplitMix64(seed: UInt64(seed)), quakes: quakes, tokens: [1])
            used.formUnion(request.parameters.map(\.name))
        }
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
