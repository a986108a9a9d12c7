import Feed
import Foundation
import NIOCore
import PostgreSQL
import QuakeML
import QuakeStore
import Synchronization
import TestSupport
import Testing

@testable import QuakeServer

@Suite("Answers of the event service")
struct EventAnswerTests {
    let server = TestServer.shared

    @Test("Text has the 14 columns of the standard, and no bar within a field")
    func text() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            let header =
                "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude"
                + "|MagAuthor|EventLocationName|EventType"
            #expect(
                try await database.answer("format=text&orderby=time-asc") == """
                    \(header)
                    q0a|1970-01-01T00:00:01.000|20|10|30|q0|q0|q0|q0a|ml|1.5|q0|a b, "c"|quarry blast
                    q0b|1970-01-01T00:00:01.000|-20.25|-179.5||q0|q0|q0|q0b||||somewhere|

                    """)
        }
    }

    @Test("CSV has the columns of the USGS, quoted where necessary")
    func csv() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            let header =
                "time,latitude,longitude,depth,mag,magType,nst,gap,dmin,rms,net,id,updated,place,type,horizontalError,"
                + "depthError,magError,magNst,status,locationSource,magSource"
            let time = "1970-01-01T00:00:01.000Z"
            #expect(
                try await database.answer("format=csv&orderby=time-asc") == """
                    \(header)
                    \(time),20,10,30,1.5,ml,12,90.5,0.01,0.125,q0,q0a,\(time),"a|b, ""c""\",quarry blast,,,,,reviewed,,
                    \(time),-20.25,-179.5,,,,,,,,q0,q0b,\(time),somewhere,,,,,,,,

                    """)
        }
    }

    @Test("GeoJSON decodes to the table's events, and its metadata has their number")
    func geojson() async throws {
        try await server.withDatabase { database in
            try await database.importSample(200)
            let table = try await database.quakes()

            let answer = try await database.answer("format=geojson&limit=150", url: "http://h/q?\"")

            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any])
            let metadata = try #require(object["metadata"] as? [String: Any])
            #expect(metadata["count"] as? Int == 150)
            #expect(metadata["limit"] as? Int == 150)
            #expect(metadata["offset"] as? Int == 1)
            #expect(metadata["url"] as? String == "http://h/q?\"")
            #expect((object["bbox"] as? [Double])?.count == 6)
            #expect(try decodedQuakes(answer) == Array(table.prefix(150)))
        }
    }

    @Test("A single event requested by its id is one feature, not a collection")
    func alone() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            let answer = try await database.answer("format=geojson&eventid=q0a")
            let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
            #expect(object?["type"] as? String == "Feature")
            #expect(object?["id"] as? String == "q0a")
        }
    }

    @Test("QuakeML is a document with the selected events")
    func xml() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            let answer = try await database.answer("minmag=1")
            #expect(answer.contains("eventid=q0a\""))
            #expect(!answer.contains("eventid=q0b"))
            #expect(answer.hasPrefix("<?xml") && answer.hasSuffix("</q:quakeml>\n"))
        }
    }

    @Test("QuakeML written from a row has the same bytes as QuakeML written from the event")
    func sameXML() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            try await database.importSample(500)
            let events = try await database.quakes().map(QuakeML.event).joined()
            #expect(try await database.answer("format=xml") == QuakeML.head + events + QuakeML.tail)
        }
    }

    @Test("An answer of many chunks is complete")
    func chunks() async throws {
        try await server.withDatabase { database in
            try await database.importSample(2000)
            for format in ["text", "csv"] {
                let answer = try await database.answer("format=\(format)")
                #expect(answer.utf8.count > 128 << 10)
                #expect(answer.utf8.filter { $0 == UInt8(ascii: "\n") }.count == 2001)
            }
            #expect(
                try decodedQuakes(try await database.answer("format=geojson"))
                    == (try await database.quakes()))
        }
    }

    @Test(
        "Without events, the answer is 204 or 404 as requested; by default 204 for QuakeML, and an empty document otherwise"
    )
    func empty() async throws {
        try await server.withDatabase { database in
            for (query, status) in [
                ("", 204), ("nodata=404", 404), ("format=text&nodata=204", 204),
                ("format=geojson&nodata=404", 404),
            ] {
                await #expect(throws: Refusal(status, "no event matches"), "\(query)") {
                    try await database.answer(query)
                }
            }
            for format in ["text", "csv"] {
                #expect(try await database.answer("format=\(format)").split(separator: "\n").count == 1)
            }
            let object = try JSONSerialization.jsonObject(
                with: Data(try await database.answer("format=geojson").utf8))
            #expect(((object as? [String: Any])?["features"] as? [Any])?.isEmpty == true)
        }
    }

    @Test("A request for a deleted event gets 409, unless it includes deleted events")
    func deleted() async throws {
        try await server.withDatabase { database in
            try await database.importRich()
            try await database.query("delete from quake where code = 'q0a'")
            await #expect(
                throws: Refusal(409, "event q0a was deleted; includedeleted=true shows it")
            ) { try await database.answer("eventid=q0a") }
            let answer = try await database.answer("eventid=q0a&includedeleted=true&format=csv")
            #expect(answer.contains(",deleted,,\n"))
            // As of token 1, the event still exists.
            #expect(try await database.answer("eventid=q0a&asof=1&format=text").contains("q0a|"))
        }
    }

    @Test("An event that was renamed, even twice, is found by its old id")
    func renamed() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures(["a", "b", "c", "d"].map { SmallFeed.feature($0) })
            for (old, new) in [("q0a", "q0b"), ("q0b", "q0c"), ("q0d", "q0gone")] {
                try await database.rename(old, to: new)
            }
            #expect(try await database.answer("eventid=q0a&format=text").contains("\nq0c|"))
            let feature = try await database.answer("eventid=q0a&format=geojson")
            #expect(feature.hasPrefix("{\"type\":\"Feature\","))
            #expect(try await database.answer("eventid=q0b&format=csv").contains("q0c"))
            // As of token 1, the event has its first id, and as of token 2, its second one.
            #expect(try await database.answer("eventid=q0a&asof=1&format=text").contains("\nq0a|"))
            #expect(try await database.answer("eventid=q0a&asof=2&format=text").contains("\nq0b|"))
            // In the first request, the event with the new code does not match. In the second request, the new code does not
            // exist.
            await #expect(throws: Refusal.self) { try await database.answer("eventid=q0a&minmagnitude=9") }
            await #expect(
                throws: Refusal(409, "event q0d was deleted; includedeleted=true shows it")
            ) { try await database.answer("eventid=q0d") }
            // The successors of the three codes form a circle.
            try await database.rename("q0c", to: "q0a")
            await #expect(throws: Refusal.self) { try await database.answer("eventid=q0a") }
        }
    }

    @Test(
        "A request for an existing event never returns another event, even if each was once renamed to the other"
    )
    func renamedAndBack() async throws {
        try await server.withDatabase { database in
            let both = [SmallFeed.feature("a"), SmallFeed.feature("b")]
            try await database.importFeatures(both)
            try await database.rename("q0a", to: "q0b")
            let between = try await database.answer("eventid=q0a&format=text")
            #expect(between.contains("\nq0b|"))
            try await database.importFeatures(both)
            // q0a exists, but its magnitude is too small. The answer must not have q0b, although q0a was once renamed to q0b.
            try await database.query("update quake set magnitude = 6 where code = 'q0b'")
            let other = try await database.answer("eventid=q0a&minmagnitude=5&format=text")
            #expect(!other.contains("q0b"))
            #expect(try await database.countAnswer("eventid=q0a&minmagnitude=5") == "0")

            try await database.rename("q0b", to: "q0a")
            try await database.importFeatures(both)
            for code in ["q0a", "q0b"] {
                #expect(try await database.countAnswer("eventid=\(code)&minmagnitude=7") == "0")
                await #expect(throws: Refusal(204, "no event matches")) {
                    try await database.answer("eventid=\(code)&minmagnitude=7")
                }
                #expect(try await database.answer("eventid=\(code)&format=text").contains("\n\(code)|"))
            }
            // At token 2, there was no event q0a, so the answer still has q0b.
            #expect(try await database.answer("eventid=q0a&asof=2&format=text") == between)
        }
    }

    @Test(
        "A query for more events than the maximum is refused, but the events can be read in pages and counted"
    )
    func tooMany() async throws {
        try await server.withDatabase { database in
            try await database.importSample(30)
            await #expect {
                try await database.answer("format=csv", maximum: 29)
            } throws: { ($0 as? Refusal)?.status == 413 }
            let page = try await database.answer("format=csv&limit=29&offset=30", maximum: 29)
            #expect(page.split(separator: "\n").count == 2)
            #expect(try await database.countAnswer("", maximum: 29) == "30")
            #expect(
                try await database.countAnswer("format=geojson&minmag=-12", maximum: 29).hasSuffix(
                    ",\"maxAllowed\":29}"))
        }
    }

    @Test(
        "An event exactly on an edge of a box is inside, in either convention for longitudes",
        arguments: [
            (-169.9, "104.0", "190.1"), (-117.43, "115.7", "242.57"), (-169.9, "104.0", "-169.9"),
            (180, "170.1", "-180"), (-180, "170.1", "180"), (190.1, "-169.9", "-100"), (104, "104", "104"),
        ])
    func edge(_ longitude: Double, west: String, east: String) async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("update quake set longitude = \(longitude)")
            #expect(try await database.countAnswer("minlongitude=\(west)&maxlongitude=\(east)") == "1")
            let outside = Double(east)! + 0.001
            if east != "-180", east != "180" {
                try await database.query(
                    "update quake set longitude = \(outside > 180 ? outside - 360 : outside)")
                #expect(try await database.countAnswer("minlongitude=\(west)&maxlongitude=\(east)") == "0")
            }
        }
    }

    @Test(
        "A token or time in the future, or a time before a history that was never pruned, is refused with status 400"
    )
    func outOfReach() async throws {
        try await server.withDatabase { database in
            let future = Refusal(400, "asof: the moment is in the future; the newest token is 0")
            _ = await #expect(throws: future) {
                try await database.answer("asof=5")
            }
            for time in ["2999-01-01", "2999-01-01T00:00:00.123456"] {
                _ = await #expect(throws: future) { try await database.answer("asof=\(time)") }
            }
            let year = await #expect(throws: Refusal.self) {
                try await database.answer(
                    "asof=1_999999-01-01T00:00:00.000000Z_e3bdacad_00000000-0000-0000-0000-000000000000")
            }
            #expect(year?.status == 400)
            let never = await #expect(throws: Refusal.self) {
                try await database.answer("asof=2001-01-01")
            }
            #expect(never?.status == 400)
        }
    }

    @Test("A request as of a pruned token or time gets 410")
    func pruned() async throws {
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            let then: String = try await database.query(
                """
                select to_char(committed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as moment
                from history.transaction
                """)[0].decode("moment")
            try await database.importFeatures([SmallFeed.feature("a", updated: 2000)])
            #expect(try await database.countAnswer("asof=1") == "1")
            try await database.query("select history.prune('0')")
            for moment in ["0", "1", "2001-01-01", then] {
                for ask in ["", "&minmagnitude=1"] {
                    let gone = await #expect(throws: Refusal.self, "\(moment)") {
                        try await database.countAnswer("asof=\(moment)\(ask)")
                    }
                    #expect(gone?.status == 410, "\(moment)")
                    #expect(
                        gone?.sentence.hasPrefix(
                            "asof: history does not reach that far back: history begins after token 2, ")
                            == true)
                }
            }
            #expect(try await database.countAnswer("asof=2") == "1")
        }
    }
}

extension TestDatabase {
    /// An event with nearly all properties, and one with nearly none.
    fileprivate func importRich() async throws {
        let more = """
            "magType":"ml","nst":12,"gap":90.5,"dmin":0.01,"rms":0.125,"status":"reviewed","type":"quarry blast"
            """
        try await importFeatures([
            SmallFeed.feature("a", place: #"a|b, \"c\""#, more: more),
            SmallFeed.feature("b", magnitude: "null").replacing("[10,20,30]", with: "[-179.5,-20.25,null]"),
        ])
    }

    fileprivate func quakes() async throws -> [Quake] {
        try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await QuakeSelection().forEach(on: connection) { quake in
                found.withLock { $0.append(quake) }
            }
            return found.withLock { $0 }
        }
    }

    /// Deletes the event `old` as superseded by `new`, as settling a document does.
    fileprivate func rename(_ old: String, to new: String) async throws {
        try await withConnection {
            try await Deletion.delete([old], reason: "superseded by \(new)", on: $0)
        }
    }

    @discardableResult
    fileprivate func answer(
        _ query: String, url: String = "http://localhost/", maximum: Int = 20_000
    ) async throws -> String {
        let request = try EventRequest(.query, query, maximum: maximum)
        return try await withConnection { connection in
            let spool = Spool(in: SpoolQuota(1 << 30, Metrics()))
            let reader = try spool.reader(closing: {}).unwrapped
            defer { reader.leave() }
            let writer = AnswerWriter(spool, isCompressed: false)
            try await connection.transaction(.repeatableReadOnly, to: "answer") {
                let newest = try await CatalogueState.read(on: connection).position.token
                try await request.writeEvents(on: connection, newest: newest, url: url, writer)
            }
            try writer.finish()
            var bytes: [UInt8] = []
            while let piece = try await reader.next() { bytes += piece.readableBytesView }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    fileprivate func countAnswer(_ query: String, maximum: Int = 20_000) async throws -> String {
        let request = try EventRequest(.count, query, maximum: maximum)
        return try await withConnection { connection in
            try await connection.transaction(.repeatableReadOnly, to: "answer") {
                let newest = try await CatalogueState.read(on: connection).position.token
                return try await request.count(on: connection, newest: newest)
            }
        }
    }
}
