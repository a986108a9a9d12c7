import Foundation
import TestSupport
import Testing

@testable import Feed

@Suite("FDSN text") struct TextTests {
    static let header =
        "#EventID|Time|Latitude|Longitude|Depth/km|Author|Catalog|Contributor|ContributorID|MagType|Magnitude|MagAuthor|EventLocationName|EventType"
    static let gfz =
        "gfz2026texh|2026-10-01T01:29:17.05|36.047|68.87|10.0|||GFZ|gfz2026texh|mb|5.28||Hindu Kush Region, Afghanistan|earthquake"

    @Test("A column becomes the matching property; a column without one goes to extra")
    func columns() throws {
        let row =
            "20260604_0000095|2026-06-04T06:07:17.0Z|-21.4600|-71.8300|10.0|CSN|EMSC-RTS|CSN|2005203|m|3.3|CSN|OFF COAST OF ANTOFAGASTA, CHILE|earthquake"
        let quake = try #require(Self.quakes(Self.header, row).first)
        #expect(quake.code == "emsc:20260604_0000095")
        #expect(quake[.net] == .text("emsc"))
        #expect(quake[.netCode] == .text("20260604_0000095"))
        #expect(quake.time == Instant("2026-06-04T06:07:17Z"))
        #expect(quake.updated == quake.time)
        #expect(quake.latitude == -21.46)
        #expect(quake.longitude == -71.83)
        #expect(quake.depth == 10)
        #expect(quake.magnitude == 3.3)
        #expect(quake[.magnitudeType] == .text("m"))
        #expect(quake[.place] == .text("OFF COAST OF ANTOFAGASTA, CHILE"))
        #expect(quake[.type] == .text("earthquake"))
        #expect(
            quake[.url] == .text("https://www.seismicportal.eu/eventdetails.html?unid=20260604_0000095"))
        #expect(
            quake[.extra]
                == .json(
                    #"{"author":"CSN","catalog":"EMSC-RTS","contributor":"CSN","contributor_id":"2005203","magnitude_author":"CSN"}"#
                ))
    }

    @Test(
        "Different spellings of the header line have the same meaning",
        arguments: [
            header, header.replacing("Depth/km", with: "Depth/Km"), String(header.dropFirst()),
            header.replacing("|", with: " | "), "# " + header.dropFirst().replacing("|", with: "\t|  "),
            header.replacing("MagType", with: "MagnitudeType"),
            header.replacing("Longitude", with: "Longtitude"),
            header.replacing("MagAuthor", with: "MagnitudeAuthor"), header.lowercased(), header + "\r",
            "\u{FEFF}" + header, "\u{FEFF}" + header.dropFirst(), "\n \n" + header,
        ])
    func headers(header: String) throws {
        let quake = try #require(Self.quakes(header, Self.gfz).first)
        #expect(quake.code == "gfz:gfz2026texh")
        #expect(quake.longitude == 68.87)
        #expect(quake.depth == 10)
        #expect(quake[.magnitudeType] == .text("mb"))
        #expect(quake[.place] == .text("Hindu Kush Region, Afghanistan"))
    }

    @Test("A column with the name of an unrelated property is ignored")
    func takenNames() throws {
        let header = Self.header + "|Gap|NST|Updated|Contributor_ID|Phases"
        let quake = try #require(Self.quakes(header, Self.gfz + "|120|12|2026-10-02|x|9").first)
        #expect(quake.updated == quake.time)
        #expect(quake[.extra] == .json(#"{"contributor":"GFZ","contributor_id":"gfz2026texh","phases":"9"}"#))
    }

    @Test("Columns without a name are ignored", arguments: ["|", "||", "| |\t|"])
    func namelessColumns(end: String) throws {
        let outcome = ScanOutcome(Array("\(Self.header)\(end)\n\(Self.gfz)\(end)\n".utf8))
        #expect(outcome.error == nil)
        let quake = try #require(try outcome.features.first?.result?.get())
        #expect(quake.code == "gfz:gfz2026texh")
        #expect(quake[.extra] == .json(#"{"contributor":"GFZ","contributor_id":"gfz2026texh"}"#))
    }

    @Test("Columns are found by their names, in any order, and optional columns may be missing")
    func otherColumns() throws {
        let rows = try Self.quakes(
            "#EventID|Time|Latitude|Longitude|Depth/km|MagType|Magnitude|EventLocationName",
            "20260929.1159001|2026-09-29T11:59:05.000Z|47.9418|-69.6187|19.94|MwN|0.75|14 km NNW of Rivière-du-Loup",
            "#Magnitude|EventID|Longitude|Latitude|Time",
            "|20260929.1159002|-69.6187|47.9418|2026-09-29T11:59:05.000Z")
        #expect(rows.map(\.code) == ["nrcan:20260929.1159001", "nrcan:20260929.1159002"])
        #expect(rows[0].magnitude == 0.75)
        #expect(rows[0][.place] == .text("14 km NNW of Rivière-du-Loup"))
        #expect(rows[1].longitude == -69.6187)
        #expect(rows[1].depth == nil)
        #expect(rows[1].magnitude == nil)
    }

    @Test(
        "Times may have any number of decimals, a Z or none, and slashes",
        arguments: [
            ("2026-10-01T01:29:17", "2026-10-01T01:29:17Z"), ("2026-10-01T01:29:17Z", "2026-10-01T01:29:17Z"),
            ("2026-10-01T01:29:17.5", "2026-10-01T01:29:17.5Z"),
            ("2026-10-01T01:29:15.858499Z", "2026-10-01T01:29:15.858Z"),
            ("2026-10-01T01:29:15.858899Z", "2026-10-01T01:29:15.859Z"),
            ("2026-12-31T23:59:59.9996", "2027-01-01T00:00:00Z"),
            ("2026/10/01 01:53:03.6500", "2026-10-01T01:53:03.65Z"), ("2026-10-01", "2026-10-01T00:00:00Z"),
            ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
            ("2026-10-01T03:29:17+02:00", "2026-10-01T01:29:17Z"),
        ])
    func times(text: String, expected: String) throws {
        let quake = try #require(
            Self.quakes(Self.header, Self.gfz.replacing("2026-10-01T01:29:17.05", with: text)).first)
        #expect(quake.time == Instant(expected))
    }

    @Test(
        "A wrong value rejects only its row, and the row's text and line number are kept",
        arguments: [
            ("2026-10-01T01:29:17.05", "yesterday", Rejection.Reason.type, "Time: not a time"),
            ("2026-10-01T01:29:17.05", "2026-02-30T00:00:00", .type, "Time: not a time"),
            ("2026-10-01T01:29:17.05", "2026-10-01T25:00:00", .type, "Time: not a time"),
            ("2026-10-01T01:29:17.05", "", .missing, "Time is missing"),
            ("36.047", "north", .type, "Latitude: not a number"),
            ("36.047", "", .missing, "latitude is missing"),
            ("36.047", "136.0", .range, "latitude is beyond ±90"),
            ("36.047", "NaN", .missing, "latitude is missing"),
            ("36.047", "--", .missing, "latitude is missing"),
            ("gfz2026texh|2026", "None|2026", .missing, "EventID is missing"),
            ("5.28", "99.9", .range, "mag is beyond ±12"),
            ("5.28", "1e999", .range, "mag: number outside the range"),
            ("10.0", "10 km", .type, "Depth: not a number"),
            ("10.0", "9999", .range, "depth is beyond ±6400"),
            ("|earthquake", "", .syntax, "13 columns, where the header line has 14"),
            ("|earthquake", "||earthquake|||", .syntax, "18 columns, where the header line has 14"),
            ("gfz2026texh|2026", "|2026", .missing, "EventID is missing"),
            ("gfz2026texh|2026", "gfz\0texh|2026", .encoding, "EventID: invalid UTF-8 or a NUL"),
        ])
    func rejects(part: String, value: String, reason: Rejection.Reason, message: String) throws {
        let row = try #require(
            Self.gfz.firstRange(of: part).map { Self.gfz.replacingCharacters(in: $0, with: value) })
        let document = [Self.header, Self.gfz, row, Self.gfz].joined(separator: "\n")
        let outcome = ScanOutcome(Array(document.utf8))
        #expect(outcome.error == nil)
        #expect(outcome.features.count == 3)
        guard case .failure(let rejection) = outcome.features[1].result else {
            Issue.record("\(row) was accepted")
            return
        }
        #expect(rejection.reason == reason)
        #expect(rejection.message.contains(message), "\(rejection.message)")
        #expect(outcome.features[1].line == 3)
        #expect(outcome.features[1].source == Array(row.utf8))
        #expect(outcome.features[1].offset == Self.header.utf8.count + Self.gfz.utf8.count + 2)
    }

    @Test(
        "A bar in the name of a place is restored where the row has only one interpretation",
        arguments: [
            ("Kabul | Afghanistan|earthquake", "Kabul | Afghanistan" as String?),
            ("a|b|c|quarry blast", "a|b|c"), ("a|b|", "a|b"),
            // The type may have been cut off, or it may be part of the place.
            ("a|earthquake|", nil), ("a|b|something new", nil),
        ])
    func bars(end: String, place: String?) throws {
        let row = Self.gfz.replacing("Hindu Kush Region, Afghanistan|earthquake", with: end)
        let outcome = ScanOutcome(Array([Self.header, row].joined(separator: "\n").utf8))
        let quake = try? outcome.features[0].result?.get()
        #expect(quake?[.place].text == place)
    }

    @Test(
        "If the place is the last column, it contains all further bars, except the one before a known type",
        arguments: [
            ("a|b", "a|b", nil as String?), ("a|b|something new", "a|b|something new", nil),
            ("a|quarry blast", "a", "quarry blast"), ("a|b|Earthquake", "a|b", "earthquake"),
        ])
    func lastPlace(end: String, place: String, type: String?) throws {
        let header = Self.header.replacing("|EventType", with: "")
        let row = Self.gfz.replacing("Hindu Kush Region, Afghanistan|earthquake", with: end)
        let quake = try #require(Self.quakes(header, row).first)
        #expect(quake[.place] == .text(place))
        #expect(quake[.type].text == type)
        // The type of one row does not apply to the next.
        #expect(try Self.quakes(header, row, Self.gfz.replacing("|earthquake", with: ""))[1][.type] == .null)
    }

    @Test("Comments and empty lines are not rows, and lines may end with CRLF")
    func comments() throws {
        let document = [Self.header, Self.gfz, "", "# Data of the ISC | cite it", "   ", Self.gfz, "#", ""]
            .joined(separator: "\r\n")
        let outcome = ScanOutcome(Array(document.utf8))
        #expect(outcome.features.count == 2)
        #expect(
            try outcome.features.map { try $0.result?.get().code } == ["gfz:gfz2026texh", "gfz:gfz2026texh"])
    }

    @Test("Lines that end only with carriage returns are refused", arguments: [1, 500])
    func carriageReturns(rows: Int) throws {
        let text = "\(Self.header)\r" + String(repeating: "\(Self.gfz)\r", count: rows)
        let error = try #require(ScanOutcome(Array(text.utf8)).error)
        #expect("\(error)".contains("the header line contains a carriage return"), "\(error)")
        #expect(ScanOutcome(Array(text.utf8), inChunksOf: { 1000 }).error == error)
    }

    @Test("A header line alone is a document without events")
    func noRows() {
        #expect(ScanOutcome(Array((Self.header + "\n").utf8)).error == nil)
        #expect(ScanOutcome(Array(Self.header.utf8)).error == nil)
    }

    @Test(
        "For a document that cannot be read as FDSN text, the error says why",
        arguments: [
            ("DATA_TYPE BULLETIN IMS1.0:short\nISC Bulletin\n", "IMS1.0 text"),
            ("BEGIN IMS1.0\n", "IMS1.0 text"), ("<!DOCTYPE html><html></html>", "an HTML page"),
            ("<html><body>Not found</body></html>", "an HTML page"), ("[1,2]", "not a JSON object"),
            ("time,latitude,longitude\n", "CSV, not FDSN text"),
            ("id,time,location,latitude,longitude,depth,magnitude\n", "CSV as libcomcat writes it"),
            (
                "# dataset: GeoCSV 2.0\n# delimiter: ,\nEventID,Time,Latitude\n",
                "GeoCSV with another delimiter"
            ),
            ("eqfeed_callback({\"type\":\"FeatureCollection\"});\n", "JSONP, a function call around GeoJSON"),
            ("{\"type\":\"Feature\",\"id\":\"us1\"}", "a single Feature, not a FeatureCollection"),
            ("a|b|c\n", "no line names the columns"),
            ("# a comment\n# another\n", "no line names the columns"),
            ("# a comment\nus1|2026\n", "a row comes before the line that names the columns"),
            ("#EventID|Time|Latitude\n", "no column Longitude"),
            ("#EventID|Time|Time|Latitude|Longitude\n", "names a column twice"),
            ("", "the document is empty"),
            ("Error 413: too much data\n", "neither GeoJSON, QuakeML nor FDSN text"),
        ])
    func otherDocuments(text: String, reason: String) throws {
        let error = try #require(ScanOutcome(Array(text.utf8)).error)
        #expect("\(error)".contains(reason), "\(error)")
        #expect(ScanOutcome(Array(text.utf8), inChunksOf: { 1 }).error == error)
    }

    @Test(
        "GeoCSV with bars is read; a document in UTF-16 that is not XML is refused, and the error names the encoding"
    )
    func geoCSVAndUTF16() throws {
        let comments = "# dataset: GeoCSV 2.0\n# delimiter: |\n# field_unit: unitless|UTC\n"
        let text = comments + Self.header.replacing("#", with: "") + "\n\(Self.gfz)\n"
        let codes = try ScanOutcome(Array(text.utf8)).features.map { try $0.result?.get().code }
        #expect(codes == ["gfz:gfz2026texh"])
        for document in [#"{"type":"FeatureCollection"}"#, text] {
            for (encoding, mark) in [
                (String.Encoding.utf16LittleEndian, [0xFF, 0xFE] as [UInt8]),
                (.utf16BigEndian, [0xFE, 0xFF]),
                (.utf16BigEndian, []),
            ] {
                let bytes = mark + (try #require(document.data(using: encoding)))
                let error = try #require(ScanOutcome(bytes).error)
                #expect("\(error)".contains("UTF-16, not UTF-8"), "\(error)")
                #expect(ScanOutcome(bytes, inChunksOf: { 1 }).error == error)
            }
        }
        let unmarked = try #require(#"{"type":1}"#.data(using: .utf16LittleEndian))
        let error = try #require(ScanOutcome(Array(unmarked)).error)
        #expect("\(error)".contains("UTF-16"))
    }

    @Test(
        "An event that its agency lists as not existing is deleted",
        arguments: [
            (gfz.replacing("earthquake", with: "Not Existing"), "gfz:gfz2026texh", "geofon.gfz.de"),
            // The row also has another fault.
            (
                gfz.replacing("earthquake", with: "not existing").replacing(
                    "2026-10-01T01:29:17.05", with: ""), "gfz:gfz2026texh", "geofon.gfz.de"
            ),
        ])
    func gone(row: String, code: String, service: String) {
        let outcome = ScanOutcome(Array("\(Self.header)\n\(row)\n".utf8))
        #expect(
            outcome.features.map(\.deletion) == [StatedDeletion(code: code, at: nil, service: service)])
    }

    @Test(
        "In responses of the NCEDC's service, zeros mean that the event was withdrawn",
        arguments: [ncedc, ncedc.replacing("0.000|0.000", with: "-0.0|0")])
    func withdrawn(row: String) {
        let outcome = ScanOutcome(Array("\(Self.header)\n\(row)\n".utf8), host: "service.ncedc.org")
        #expect(
            outcome.features.map(\.deletion) == [
                StatedDeletion(code: "nc75442121", at: nil, service: "service.ncedc.org")
            ])
    }

    private static let ncedc =
        "75442121|2026-10-01T01:58:02.0300|0.000|0.000|0.000|NC|NCSS|NC||MU|0.0|NC||earthquake"

    @Test(
        "A zero is a value, unless the NCEDC writes zeros for the position, the depth and the magnitude together",
        arguments: [
            ncedc.replacing("|0.0|NC", with: "|0.1|NC"),
            ncedc.replacing("0.000|0.000|", with: "0.000|0.001|"),
            ncedc.replacing("|0.0|NC", with: "||NC"),
            gfz.replacing("36.047|68.87", with: "0|0").replacing("5.28", with: "0"),
        ])
    func zeros(row: String) throws {
        let outcome = ScanOutcome(Array("\(Self.header)\n\(row)\n".utf8), host: "service.ncedc.org")
        #expect(try outcome.features.map { try $0.result?.get().latitude }.count == 1)
        #expect(try Self.quakes(Self.header, Self.ncedc).count == 1)
    }

    @Test("Text that ends within a row is an error; text that ends without a line end is incomplete")
    func cutOff() throws {
        let document = Array("\(Self.header)\n\(Self.gfz)\n\(Self.gfz)".utf8)
        for count in (Self.header.utf8.count + Self.gfz.utf8.count + 2)...document.count {
            var scanner = DocumentScanner()
            let result = Result {
                _ = try document.prefix(count).withUnsafeBufferPointer { try scanner.scan($0) { _ in true } }
                _ = try scanner.finish { _ in true }
            }
            let isWithin =
                document.prefix(count).split(separator: UInt8(ascii: "\n")).last?
                .count { $0 == UInt8(ascii: "|") } ?? 0 < 13
            switch result {
            case .success: #expect(scanner.isIncomplete == (document[count - 1] != UInt8(ascii: "\n")))
            case .failure(let error): #expect(isWithin && "\(error)".contains("ends within line 3"))
            }
        }
    }

    @Test("A row that is not UTF-8, or is longer than 64 KiB, is rejected")
    func encodingAndSize() throws {
        var document = Array("\(Self.header)\n\(Self.gfz)\n".utf8)
        document += Array(Self.gfz.utf8).map { $0 == UInt8(ascii: "H") ? 0xE8 : $0 } + Array("\n".utf8)
        document += Array(Self.gfz.replacing("Hindu", with: String(repeating: "x", count: 70_000)).utf8)
        let outcome = ScanOutcome(document, inChunksOf: { 1000 })
        #expect(outcome.error == nil)
        #expect(outcome.features.map(\.failure?.reason) == [nil, .encoding, .size])
        #expect(outcome.features[2].source?.count == 64 << 10)
    }

    @Test(
        "An id that is not UTF-8 is rejected, because two such ids could look the same after a repair",
        arguments: ["earthquake", "not existing"])
    func encodingOfIDs(type: String) {
        var document = Array("\(Self.header)\n".utf8)
        for byte in [0xE8, 0xE9] as [UInt8] {
            let row = Array("\(Self.gfz.replacing("earthquake", with: type))\n".utf8)
            document += [byte] + row
        }
        let outcome = ScanOutcome(document)
        #expect(outcome.error == nil)
        #expect(outcome.features.map(\.failure?.reason) == [.encoding, .encoding])
        #expect(outcome.features.map(\.deletion) == [nil, nil])
        #expect(outcome.features.map(\.bytes) == [[], []])
    }

    @Test("The agencies' sample documents are read correctly", .needsAgencySamples)
    func samples() throws {
        let outcome = ScanOutcome(try AgencySamples.bytes("fdsn-text-16-agencies-2026-10-01.txt"))
        #expect(outcome.error == nil)
        #expect(
            try outcome.features.map { try $0.result?.get().code } == [
                "gfz:gfz2026texh", "unknown:46744251@2026-10-01", "geonet:2026p737458", "resif:fr2026usvzhn",
                "noa:noa2026ssxgs", "sed:2026tjhylr", "nrcan:20260929.1159001", "unknown:75442121@2026-10-01",
                "unknown:41341359@2026-10-01", "knmi:knmi2026thbl",
                "local:d237c126-859b-4cf5-9792-aa16633bb276",
                "resif:fr2026usvzhn", "ipgp:revosima2026thcmcq", "usp:usp2026tdit", "lmu:20260929100828",
                "unknown:645898639@2026-03-01",
            ])
    }

    static func quakes(_ lines: String...) throws -> [Quake] {
        let outcome = ScanOutcome(Array(lines.joined(separator: "\n").utf8))
        if let error = outcome.error { throw error }
        return try outcome.features.compactMap { try $0.result?.get() }
    }
}

extension ScanOutcome.Feature {
    var failure: Rejection? {
        if case .failure(let rejection) = result { rejection } else { nil }
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
