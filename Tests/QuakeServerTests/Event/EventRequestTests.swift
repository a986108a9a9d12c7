import Feed
import QuakeStore
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Requests to the event service")
struct EventRequestTests {
    /// The effect of each parameter, as `facts` describes it.
    static let meanings: [(query: String, fact: String)] = [
        ("starttime=2014-04-15", "since 2014-04-15T00:00:00.000Z"),
        ("start=2014-04-15T12:22:47.1234", "since 2014-04-15T12:22:47.124Z"),
        ("endtime=2014-04-15T12:22:47", "until 2014-04-15T12:22:47.001Z"),
        ("end=2014-04-15T12:22:47.1234Z", "until 2014-04-15T12:22:47.124Z"),
        ("start=2014-04-15%2012:22:47", "since 2014-04-15T12:22:47.000Z"),
        ("starttime=2014-04-15+12:22:47.1234", "since 2014-04-15T12:22:47.124Z"),
        ("starttime=2014-04-15T12:22:47%2B00:00", "since 2014-04-15T12:22:47.000Z"),
        ("starttime=2014-04-15T12:22:47.5+00:00", "since 2014-04-15T12:22:47.500Z"),
        ("endtime=2014-04-15+12:22:47+02:00", "until 2014-04-15T10:22:47.001Z"),
        ("end=2014-04-15T12:22:47-0230", "until 2014-04-15T14:52:47.001Z"),
        ("updatedafter=2014-04-15%2012:22:47Z", "updated 2014-04-15T12:22:47.000Z"),
        ("updatedafter=2014-04-15T12:22:47", "updated 2014-04-15T12:22:47.000Z"),
        ("asof=12", "as of token(12)"),
        (
            "asof=12_2014-04-15T12:00:00.123456Z_3f9a01c7_00000000-0000-0000-0000-000000000000",
            "as of position 12_2014-04-15T12:00:00.123456Z_3f9a01c7_00000000-0000-0000-0000-000000000000"
        ),
        ("asof=2014-04-15", "as of millisecond 2014-04-15T00:00:00.000Z"),
        ("asof=2014-04-15T12:00:00.123Z", "as of millisecond 2014-04-15T12:00:00.123Z"),
        ("asof=2014-04-15T12:00:00.1234", "as of 2014-04-15T12:00:00.123400Z"),
        ("asof=2014-04-15T12:00:00.123000Z", "as of 2014-04-15T12:00:00.123000Z"),
        ("asof=2014-04-15T12:00:00.123456+00:00", "as of 2014-04-15T12:00:00.123456Z"),
        ("asof=2014-04-15 12:00:00.123456%2B02:00", "as of 2014-04-15T10:00:00.123456Z"),
        ("asof=2014-04-15T12:00:00.123456789Z", "as of 2014-04-15T12:00:00.123456Z"),
        ("minlatitude=-10&maxlat=%2B20.5", "box -10.0 -180.0 20.5 180.0"),
        ("minlat=-10&maxlatitude=.5", "box -10.0 -180.0 0.5 180.0"),
        ("minlongitude=170&maxlon=-170", "box -90.0 170.0 90.0 -170.0"),
        ("minlon=190", "box -90.0 190.0 90.0 360.0"),
        ("maxlongitude=-190", "box -90.0 -360.0 90.0 -190.0"),
        ("lat=1&lon=2", "circle 1.0 2.0 0.0 inf"),
        ("latitude=1&longitude=2&minradius=0&maxradius=180", "circle 1.0 2.0 0.0 inf"),
        ("latitude=1&longitude=2&minradiuskm=5&maxradiuskm=7.5", "circle 1.0 2.0 5.0 7.5"),
        ("mindepth=-1&maxdepth=10", "depth -1.0...10.0"),
        ("minmagnitude=2", "magnitude 2.0...inf"), ("minmag=2&maxmag=3", "magnitude 2.0...3.0"),
        ("maxmagnitude=3", "magnitude -inf...3.0"),
        ("mingap=10&maxgap=90", "gap 10.0...90.0"), ("minsig=100&maxsig=200", "sig 100.0...200.0"),
        ("mincdi=1&maxcdi=2", "cdi 1.0...2.0"), ("minmmi=1&maxmmi=2", "mmi 1.0...2.0"),
        ("minfelt=3", "felt 3.0...inf"),
        ("magnitudetype=mw,ML", "magnitude_type mw ML"), ("magtype=all", ""), ("magtype=preferred", ""),
        ("eventtype=earthquake,quarry+blast", "types earthquake/quarry blast"),
        ("eventid=us1", "code us1"), ("catalog=us,ci", "net us ci"), ("contributor=us", "contributors us"),
        ("catalog=SCEDC,emsc", "net ci emsc"), ("contributor=ncedc", "contributors ncedc nc"),
        ("alertlevel=green", "alert green"), ("reviewstatus=reviewed", "status reviewed"),
        ("reviewstatus=all", ""), ("producttype=shakemap", "types shakemap"),
        ("productcode=us1", "ids us1"), ("includesuperseded=True", ""),
        ("includedeleted=true&format=csv", "csv deleted included"), ("includedeleted=false", ""),
        ("includedeleted=only&format=geojson", "geojson deleted only"),
        ("includeallorigins=TRUE&includeallmagnitudes=False&includearrivals=true", "merged"),
        ("merge=true", "merged"), ("merge=false", ""),
        ("format=geojson&includeearthquake=true", "geojson earthquakes named"),
        ("format=kml&kmlcolorby=depth&kmlanimated=TRUE", "kml"),
        ("format=geojson&callback=a.$b_1", "geojson"),
        ("format=text", "text"), ("format=xml", ""), ("format=quakeml", ""), ("nodata=404", "404"),
        ("nodata=204", "204"), ("orderby=time", ""), ("orderby=time-asc", "reversed"),
        ("orderby=magnitude", "by magnitude"), ("orderby=magnitude-asc", "by magnitude reversed"),
        ("limit=20000&offset=3", "limit 20000 offset 2"), ("", ""), ("&", ""),
    ]

    @Test("Each parameter, under each of its names, has its effect on the request", arguments: meanings)
    func meaning(query: String, fact: String) throws {
        #expect(facts(try EventRequest(.query, query, maximum: 20_000)) == fact)
    }

    @Test("The tests of effects cover every parameter and every alias")
    func everyParameter() {
        let pairs = Self.meanings.flatMap { $0.query.split(separator: "&") }
        let tested = Set(pairs.map { String($0.prefix(while: { $0 != "=" })) })
        for parameter in EventParameter.allCases {
            #expect(tested.contains(parameter.rawValue), "\(parameter)")
            if let alias = parameter.alias { #expect(tested.contains(alias), "\(alias)") }
        }
    }

    static let mistakes: [(query: String, details: String)] = [
        ("minmagnitud=1", "unknown parameter: minmagnitud; did you mean minmagnitude?"),
        ("MinMagnitude=1", "unknown parameter: MinMagnitude; did you mean minmagnitude?"),
        ("x=1", "unknown parameter: x"),
        ("minmag=1&minmagnitude=1", "minmagnitude is given more than once"),
        ("minmag=", "minmag has no value"), ("minmag", "minmag has no value"),
        ("minmag=1e0", "minmagnitude=1e0 is not a decimal number"),
        ("minmag=nan", "minmagnitude=nan is not a decimal number"),
        ("minmag=0x1", "minmagnitude=0x1 is not a decimal number"),
        ("minmag=--1", "minmagnitude=--1 is not a decimal number"),
        ("minmag=1.2.3", "minmagnitude=1.2.3 is not a decimal number"),
        ("minmag=.", "minmagnitude=. is not a decimal number"),
        ("minmag=%D9%A1", "minmagnitude=\u{661} is not a decimal number"),
        ("minlatitude=91", "minlatitude=91 is not between -90 and 90"),
        ("maxlongitude=361", "maxlongitude=361 is not between -360 and 360"),
        ("minlatitude=2&maxlatitude=1", "minlatitude is greater than maxlatitude"),
        ("mindepth=2&maxdepth=1", "mindepth is greater than maxdepth"),
        ("minmag=2&maxmag=1", "minmagnitude is greater than maxmagnitude"),
        ("start=2014-04-15&end=2014-04-14", "starttime is after endtime"),
        ("start=2014-04-15T00:00:00.0009&end=2014-04-15", "starttime is after endtime"),
        ("latitude=1", "latitude needs longitude"), ("lon=1", "longitude needs latitude"),
        ("maxradius=1", "a radius needs latitude and longitude"),
        (
            "lat=1&lon=1&maxradius=1&maxradiuskm=1", "a radius is either in degrees or in kilometres"
        ),
        ("lat=1&lon=1&minradius=2&maxradius=1", "minradius is greater than maxradius"),
        (
            "start=yesterday",
            "starttime=yesterday is not a time such as 2014-04-15 or 2014-04-15T12:22:47.5, in UTC"
        ),
        (
            "start=2014-02-30",
            "starttime=2014-02-30 is not a time such as 2014-04-15 or 2014-04-15T12:22:47.5, in UTC"
        ),
        (
            "start=2014-04-15+12:22",
            "starttime=2014-04-15 12:22 is not a time such as 2014-04-15 or 2014-04-15T12:22:47.5, in UTC"
        ),
        (
            "start=2014-04-15T12:22:47%2B25:00",
            "starttime=2014-04-15T12:22:47+25:00 is not a time such as 2014-04-15 or 2014-04-15T12:22:47.5, in UTC"
        ),
        ("limit=0", "limit=0 is not between 1 and 1000000000000000"),
        ("limit=20001", "limit=20001 is more than 20000, the limit for one answer"),
        ("offset=0", "offset=0 is not between 1 and 1000000000000000"),
        ("limit=1.0", "limit=1.0 is not a whole number"), ("limit=%2B1", "limit=+1 is not a whole number"),
        ("limit=99999999999999999999", "limit=99999999999999999999 is not a whole number"),
        ("asof=99999999999999999999", "asof=99999999999999999999 is not a token"),
        (
            "asof=99999-01-01",
            "asof=99999-01-01 is neither a position, a token nor a time such as 2014-04-15 or 2014-04-15T12:22:47.5"
        ),
        ("includearrivals=1", "includearrivals=1 is neither true nor false"),
        ("includedeleted=TRUE", "includedeleted=TRUE is not one of false, true, only"),
        ("includedeleted=true", "includedeleted=true needs format=geojson or format=csv"),
        (
            "includesuperseded=true&includedeleted=true&format=csv",
            "includesuperseded and includedeleted exclude each other"
        ),
        ("format=kmz", "format=kmz is not one of xml, text, csv, geojson, kml"),
        ("format=kml&kmlcolorby=size", "kmlcolorby=size is not one of age, depth"),
        ("kmlcolorby=age", "kmlcolorby=age needs format=kml"),
        ("format=csv&kmlanimated=true", "kmlanimated=true needs format=kml"),
        ("format=kml&includedeleted=true", "includedeleted=true needs format=geojson or format=csv"),
        ("callback=f", "callback=f needs format=geojson"),
        ("format=geojson&callback=alert(1)//", "callback=alert(1)// is not the name of a function"),
        ("format=geojson&callback=a..b", "callback=a..b is not the name of a function"),
        ("orderby=depth", "orderby=depth is not one of time, time-asc, magnitude, magnitude-asc"),
        ("nodata=200", "nodata=200 is not one of 204, 404"),
        ("eventtype=a,,b", "eventtype=a,,b has an empty element"),
        ("eventid=%2", "a % in the request is not followed by two hexadecimal digits"),
        ("eventid=%ff", "the request is not UTF-8"), ("eventid=%00", "the request has a control character"),
        ("eventid=a%0Ab", "the request has a control character"),
    ]

    @Test("A wrong request is refused with a reason", arguments: mistakes)
    func mistake(query: String, details: String) {
        #expect(throws: Refusal(400, details)) { try EventRequest(.query, query, maximum: 20_000) }
    }

    @Test("A count can include deleted events in any format, and accepts any limit")
    func count() throws {
        let request = try EventRequest(.count, "includedeleted=only&limit=30000", maximum: 20_000)
        #expect(facts(request) == "text deleted only limit 30000")
    }

    @Test("An error has the form of the standard")
    func error() {
        let text = Refusal(400, "minmag has no value").text(
            request: "http://host/fdsnws/event/1/query?minmag=", service: "http://host/fdsnws/event/1/",
            at: Instant(milliseconds: 0))
        #expect(
            text == """
                Error 400: Bad Request

                minmag has no value

                Usage details are available from http://host/fdsnws/event/1/

                Request:
                http://host/fdsnws/event/1/query?minmag=

                Request Submitted:
                1970-01-01T00:00:00.000Z

                Service version:
                1.2.0

                """)
    }

    /// Everything that a request sets, in words; defaults are left out.
    private func facts(_ request: EventRequest) -> String {
        let selection = request.selection
        var facts: [String] = []
        if request.format != .xml { facts.append("\(request.format)") }
        if let status = request.noData { facts.append("\(status)") }
        if let since = selection.since { facts.append("since \(since)") }
        if let until = selection.until { facts.append("until \(until)") }
        if let names = selection.contributors { facts.append("contributors \(names.joined(separator: " "))") }
        if let updated = selection.updatedAfter { facts.append("updated \(updated)") }
        switch selection.asOf {
        case .token(let token): facts.append("as of token(\(token))")
        case .position(let position): facts.append("as of position \(position.word)")
        case .time(let time): facts.append("as of \(time)")
        case .millisecond(let instant): facts.append("as of millisecond \(instant)")
        case nil: break
        }
        if let box = selection.box { facts.append("box \(box.south) \(box.west) \(box.north) \(box.east)") }
        if let circle = selection.near {
            facts.append(
                "circle \(circle.latitude) \(circle.longitude) \(circle.innerKilometres) \(circle.kilometres)"
            )
        }
        for property in Property.allCases {
            if let range = selection.ranges[property] {
                facts.append("\(property.column) \(range.lowerBound)...\(range.upperBound)")
            }
            if let texts = selection.values[property] {
                facts.append("\(property.column) \(texts.joined(separator: " "))")
            }
        }
        if selection.isMerged { facts.append("merged") }
        if request.namesEarthquakes { facts.append("earthquakes named") }
        if let types = selection.types { facts.append("types \(types.joined(separator: "/"))") }
        if selection.deleted != .excluded { facts.append("deleted \(selection.deleted)") }
        if selection.order != .time { facts.append("by \(selection.order)") }
        if selection.isReversed { facts.append("reversed") }
        if let limit = selection.limit { facts.append("limit \(limit)") }
        if selection.offset != 0 { facts.append("offset \(selection.offset)") }
        return facts.joined(separator: " ")
    }
}
