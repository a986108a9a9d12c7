import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import QuakeServer
@testable import QuakeStore

/// Checks that no parameter is forgotten. Each parameter is tested in three places:
///
/// - `EventRequestTests`: the parameter has its effect under each of its names, and a wrong value is refused with a reason.
/// - `EventSelectionTests`: random requests give the same events as an independent selection. For parameters that do not change
///   the selection, `elsewhere` names another test.
/// - `EventClientTests`: ObsPy, libcomcat and QQuake send the parameters that they know.
@Suite("The parameters of the event service")
struct EventParameterTests {
    /// The parameters of fdsnws-event 1.2.
    static let standard = [
        "starttime", "endtime", "minlatitude", "maxlatitude", "minlongitude", "maxlongitude", "latitude",
        "longitude",
        "minradius", "maxradius", "mindepth", "maxdepth", "minmagnitude", "maxmagnitude", "magnitudetype",
        "eventtype",
        "includeallorigins", "includeallmagnitudes", "includearrivals", "eventid", "limit", "offset",
        "orderby", "catalog",
        "contributor", "updatedafter", "format", "nodata",
    ]

    /// The parameters that the USGS's service adds (https://earthquake.usgs.gov/fdsnws/event/1/), except `jsonerror`.
    static let usgs = [
        "minradiuskm", "maxradiuskm", "includedeleted", "includesuperseded", "alertlevel", "maxcdi", "maxgap",
        "maxmmi",
        "maxsig", "mincdi", "minfelt", "mingap", "minmmi", "minsig", "producttype", "productcode",
        "reviewstatus", "callback", "kmlcolorby", "kmlanimated",
    ]

    /// The parameters that do not change which events are selected, with the tests of their effects.
    static let elsewhere: [EventParameter: String] = [
        .nodata: "EventAnswerTests.empty", .includesuperseded: "EventRequestTests.mistake",
        .includeallorigins: "EventRequestTests.meaning", .includeallmagnitudes: "EventRequestTests.meaning",
        .merge: "EarthquakeAnswerTests.merge", .includeearthquake: "EarthquakeAnswerTests.named",
        .includearrivals: "EventRequestTests.meaning", .callback: "EventClientTests.forms",
        .kmlcolorby: "EventClientTests.forms", .kmlanimated: "EventClientTests.forms",
    ]

    @Test("The parameters are those of the standard, those of the USGS and three additions")
    func complete() {
        let names = EventParameter.allCases.map(\.rawValue)
        #expect(Set(names) == Set(Self.standard + Self.usgs + ["asof", "merge", "includeearthquake"]))
    }

    /// Enough random requests to use every parameter that changes the selection.
    private static func requests() throws -> [RandomRequest] {
        var document: [UInt8] = []
        SampleFeed(count: 200, seed: 1).write { document.append(contentsOf: $0) }
        let quakes = try decodedQuakes(String(decoding: document, as: UTF8.self))
        return (0..<2000).map { RandomRequest(SplitMix64(seed: $0), quakes: quakes, tokens: [1]) }
    }

    @Test("Each change has all properties that parameters compare, so that live streams can be filtered")
    func followed() throws {
        let used = try Self.requests().reduce(into: Set<Property>()) { used, request in
            used.formUnion(try EventRequest(.query, request.query, maximum: 20_000).selection.properties)
        }
        #expect(used.count > 10)
        #expect(used.subtracting(PassChange.properties) == [])
    }

    @Test("Each parameter occurs in the random requests, or has another test")
    func tested() throws {
        let used = try Set(Self.requests().flatMap { $0.parameters.map(\.name) })
        for parameter in EventParameter.allCases {
            let isUsed = used.contains(parameter.rawValue) || parameter.alias.map(used.contains) ?? false
            #expect(isUsed != (Self.elsewhere[parameter] != nil), "\(parameter)")
        }
    }

    @Test("The documentation has each parameter and its alias")
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
