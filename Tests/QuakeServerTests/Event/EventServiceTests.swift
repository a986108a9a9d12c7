import TestSupport
import Testing

@testable import QuakeServer

@Suite("The event service over HTTP")
struct EventServiceTests {
    private let path = "/fdsnws/event/1"

    @Test("An answer as QuakeML, text, CSV or GeoJSON has the format's media type and the catalogue's token")
    func formats() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(50)
            try await TestSite.run(of: database) { site in
                for (format, type) in [
                    ("xml", "application/xml"), ("text", "text/plain; charset=utf-8"),
                    ("csv", "text/csv; charset=utf-8"), ("geojson", "application/json; charset=utf-8"),
                ] {
                    let answer = try await site.get("\(path)/query?format=\(format)&limit=5")
                    #expect(answer.status == 200, "\(format)")
                    #expect(answer.headers["content-type"] == type)
                    #expect(answer.token == 1)
                    #expect(!answer.body.isEmpty)
                }
                #expect(try await site.get("\(path)/count").text == "50")
                #expect(
                    try await site.get("\(path)/count?format=geojson").text
                        == #"{"count":50,"maxAllowed":20000}"#)
            }
        }
    }

    @Test("The format can be the ending of the path, as in scripts for the USGS's service")
    func formatInPath() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importSample(5)
            try await TestSite.run(of: database) { site in
                for format in EventFormat.allCases.map(\.rawValue) + ["quakeml"] {
                    let stated = try await site.get("\(path)/query?limit=3&format=\(format)")
                    for query in ["?limit=3", "?limit=3&format=\(format)"] {
                        let answer = try await site.get("\(path)/query.\(format)\(query)")
                        #expect(answer.status == 200, "\(format)")
                        #expect(answer.headers["content-type"] == stated.headers["content-type"])
                    }
                }
                #expect(try await site.get("\(path)/query.csv?limit=3").text.hasPrefix("time,latitude,"))
                #expect(
                    try await site.get("\(path)/count.geojson?starttime=2010-01-01%2000:00:00").text
                        == #"{"count":5,"maxAllowed":20000}"#)
                let both = try await site.get("\(path)/query.csv?format=kml")
                #expect(both.status == 400)
                #expect(both.text.contains("format=kml contradicts the path, which ends with .csv"))
                for none in ["query.", "query.exe", "query.csv.csv", "version.text"] {
                    #expect(try await site.get("\(path)/\(none)").status == 404, "\(none)")
                }
            }
        }
    }

    @Test("The service lists its version, parameters, catalogues and contributors")
    func descriptions() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([
                SmallFeed.feature("a", more: #""sources":",q0,q<1,""#), SmallFeed.feature("b", net: "q2"),
            ])
            try await TestSite.run(of: database) { site in
                #expect(try await site.get("\(path)/version").text == "1.2.0")
                for method in ["version", "application.wadl", "catalogs", "contributors"] {
                    #expect(try await site.get("\(path)/\(method)?x=1").status == 400)
                }
                let wadl = try await site.get("\(path)/application.wadl").text
                for parameter in EventParameter.allCases {
                    #expect(wadl.contains("<param name=\"\(parameter)\""))
                }
                #expect(
                    try await site.get("\(path)/catalogs").text.contains(
                        "<Catalogs>\n<Catalog>q0</Catalog>\n<Catalog>q2</Catalog>\n</Catalogs>"))
                #expect(
                    try await site.get("\(path)/contributors").text.contains(
                        "<Contributors>\n<Contributor>q0</Contributor>\n<Contributor>q2</Contributor>\n<Contributor>q&lt;1</Contributor>\n</Contributors>"
                    ))
            }
        }
    }

    @Test("A refusal has the form of the standard, and a 204 has no body")
    func refusals() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                for (target, status) in [
                    ("query?minmag=x", 400), ("query?nodata=404", 404), ("nothing", 404),
                    ("query?asof=7", 400), ("query?eventid=\(String(repeating: "x", count: 2000))", 414),
                ] {
                    let answer = try await site.get("\(path)/\(target)")
                    #expect(answer.status == status, "\(target)")
                    #expect(answer.text.hasPrefix("Error \(status): "))
                    #expect(answer.text.contains("\nRequest:\nhttp://127.0.0.1:\(site.port)\(path)/"))
                    #expect(answer.text.hasSuffix("Service version:\n1.2.0\n"))
                }
                let nothing = try await site.get("\(path)/query")
                #expect(nothing.status == 204)
                #expect(nothing.body.isEmpty)
                #expect(nothing.token == 0)
                #expect(try await site.get(path).text.hasPrefix("FDSN event web service"))
            }
        }
    }

    @Test(
        "POST and a request with a body are refused in the standard's form, and HEAD has the status and length of GET"
    )
    func methods() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                let post = try await site.get("\(path)/query", method: "POST", ["Content-Length": "0"])
                #expect(post.text.hasPrefix("Error 405: Method Not Allowed\n"))
                #expect(post.headers["allow"] == "GET, HEAD, OPTIONS")
                let body = try await site.get("\(path)/query", ["Content-Length": "7"])
                #expect(body.text.hasPrefix("Error 413: "))
                let get = try await site.get("\(path)/query?x=1")
                let head = try await site.get("\(path)/query?x=1", method: "HEAD")
                #expect(head.status == 400)
                #expect(head.headers["content-length"].flatMap { Int($0) } == get.body.count)
            }
        }
    }

    @Test(
        "When the database is busy or stopped, the answer is a 503 in the standard's form, with Retry-After")
    func unavailable() async throws {
        let server = try await TemporaryServer.start()
        #expect(try await QuakesCommand().run("migrate", "--database", server.url).status == 0)
        let database = TestDatabase(url: server.url)
        var settings = ServerSettings.patient
        (settings.shortTime, settings.statementTime) = (.milliseconds(300), .milliseconds(300))
        try await TestSite.run(of: database, settings) { site in
            // A cached answer does not need the database, so this request differs from those below.
            try await waitUntil { try await site.get("\(path)/count?minmag=9").status == 200 }
            try await database.withConnection { connection in
                try await connection.transaction(to: "lock the table") {
                    try await connection.execute(
                        "lock table quake in access exclusive mode", to: "lock the table")
                    try await expectRefusal(site, "The database took too long.")
                }
            }
            try await server.cluster.stop()
            try await expectRefusal(site, "The database is not available.")
        }
    }

    @Test(
        "If a lock, a broken disk, a read-only server or a missing table prevents a query, the answer is 503; if the query itself fails, it is 500"
    )
    func trouble() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importDocument(DayFeed.of(3).document)
            let states = ["55P03", "58030", "25006", "42P01", "22012"]
            try await database.execute(
                """
                create or replace function report.distance_km(
                    latitude_1 double precision, longitude_1 double precision,
                    latitude_2 double precision, longitude_2 double precision) returns double precision
                language plpgsql as $$
                begin
                    raise 'trouble' using errcode = ('{\(states.joined(separator: ","))}'::text[])[latitude_1::int];
                end $$
                """)
            try await TestSite.run(of: database) { site in
                for (number, state) in zip(1..., states) {
                    let circle = "latitude=\(number)&longitude=0&maxradius=179"
                    let answer = try await site.get("\(path)/count?\(circle)")
                    #expect(answer.status == (state == "22012" ? 500 : 503), "\(state)")
                    #expect(
                        answer.text.contains(
                            state == "22012"
                                ? "The database refused the query." : "The database is not available."),
                        "\(state)")
                }
            }
        }
    }

    private func expectRefusal(_ site: TestSite, _ details: String) async throws {
        for target in ["query?minmag=1", "count", "catalogs", "contributors"] {
            let answer = try await site.get("\(path)/\(target)")
            #expect(answer.status == 503, "\(target)")
            #expect(answer.headers["retry-after"] == "5")
            #expect(answer.text.hasPrefix("Error 503: Service Unavailable\n\n\(details)\n"), "\(answer.text)")
            #expect(answer.text.contains("\nRequest:\n\(site.url(path))/\(target)\n"))
        }
    }

    @Test("An unchanged catalogue gives a 304, and a changed one does not")
    func conditional() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await TestSite.run(of: database) { site in
                let target = "\(path)/query?format=csv"
                let tag = try #require(try await site.get(target).headers["etag"])
                #expect(try await site.get("\(target)&limit=1", ["If-None-Match": tag]).status == 200)
                try await waitUntil { try await site.get(target, ["If-None-Match": tag]).status == 304 }
                try await database.importFeatures([SmallFeed.feature("b")])
                try await waitUntil { try await site.get(target, ["If-None-Match": tag]).status == 200 }
            }
        }
    }
}
