import Foundation
import FoundationXML
import TestSupport
import Testing

/// A punctuation mark and a combining mark after it form one Character, which differs from the punctuation mark alone. As
/// Strings, é as one code point and e with a combining accent are equal.
@Suite("Texts with combining marks after punctuation")
struct HostileTextTests {
    private static let places = [
        "a\"\u{301},=1+1,\"", "\"\u{20DD}", "\u{600}\"=1", "\"\u{200D}\",x", "x\"\u{FE0F}", "=\u{301}1",
        "\"\r\n=2",
        ",\u{301}", "plain", "\u{600},\"\"\u{301}\"",
    ]

    @Test("CSV has the same number of columns in every row, and each text in its column")
    func csv() async throws {
        try await withPlaces { quakes in
            for (command, options) in [
                (["list"], []), (["list"], ["--spreadsheet"]), (["report", "event"], []),
                (["report", "event"], ["--spreadsheet"]),
            ] as [([String], [String])] {
                let outcome = try await quakes.run(command + ["--format", "csv"] + options)
                let rows = Self.rows(of: outcome.output)
                let name = "\(command + options)"
                let head = try #require(rows.first, "\(name)")
                #expect(rows.count == Self.places.count + 1, "\(name)")
                #expect(rows.allSatisfy { $0.count == head.count }, "\(name)")
                let column = try #require(head.firstIndex { $0.elementsEqual("place".utf8) })
                let found = Set(rows.dropFirst().map { $0[column] })
                let expected = Self.places.map { place in
                    guard !options.isEmpty else { return place }
                    return (place.unicodeScalars.first == "=" ? "'" : "")
                        + String(
                            String.UnicodeScalarView(place.unicodeScalars.map { $0 < " " ? "\u{FFFD}" : $0 }))
                }
                #expect(found == Set(expected.map { Array($0.utf8) }), "\(name)")
                if !options.isEmpty {
                    let formulas = rows.joined().filter { $0.first == UInt8(ascii: "=") }
                    #expect(formulas.isEmpty, "\(name)")
                }
            }
        }
    }

    @Test("JSON, NDJSON and GeoJSON have the same texts, and QuakeML is well formed")
    func json() async throws {
        try await withPlaces { quakes in
            let expected = Set(Self.places.map { Array($0.utf8) })
            func texts(_ objects: [Any]) -> Set<[UInt8]> {
                Set(
                    objects.compactMap {
                        (($0 as? [String: Any])?["place"] as? String).map { Array($0.utf8) }
                    })
            }
            func parsed(_ text: String) throws -> Any {
                try JSONSerialization.jsonObject(with: Data(text.utf8))
            }
            let array = try parsed(try await quakes.run("list", "--format", "json").output)
            #expect(texts(array as? [Any] ?? []) == expected)
            let lines = try await quakes.run("list", "--format", "ndjson").output
                .utf8.split(separator: UInt8(ascii: "\n")).map { try parsed(String(Substring($0))) }
            #expect(texts(lines) == expected)
            let collection = try parsed(try await quakes.run("list", "--format", "geojson").output)
            let features = (collection as? [String: Any])?["features"] as? [[String: Any]] ?? []
            #expect(texts(features.compactMap { $0["properties"] }) == expected)
            let document = try await quakes.run("list", "--format", "quakeml").output
            #expect(XMLParser(data: Data(document.utf8)).parse())
        }
    }

    @Test("Two codes that look the same can be deleted separately or together")
    func codes() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.insertAccents()
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let both = try await quakes.run("delete", "\u{E9}", "e\u{301}")
            #expect(both.status == 0, "\(both.errors)")
            #expect(try await database.query("select from quake").isEmpty)
            try await database.insertAccents()
            #expect(try await quakes.run("delete", "e\u{301}").status == 0)
            let left = try await database.query("select code from quake")
            #expect(
                try left.map { Array(try $0.decode("code", as: String.self).utf8) } == [Array("\u{E9}".utf8)])
        }
    }

    private func withPlaces(_ body: (QuakesCommand) async throws -> Void) async throws {
        try await TestServer.shared.withDatabase { database in
            for (index, place) in Self.places.enumerated() {
                try await database.query(
                    """
                    insert into quake (code, net, net_code, place, time, updated, longitude, latitude)
                    values (\("q\(index)"), 'q', '', \(place), now(), now(), 0, 0)
                    """)
            }
            try await body(QuakesCommand(["DATABASE_URL": database.url]))
        }
    }

    /// Parses rows by RFC 4180, byte by byte.
    private static func rows(of text: String) -> [[[UInt8]]] {
        var (rows, row, field) = ([[[UInt8]]](), [[UInt8]](), [UInt8]())
        var isQuoted = false
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""):
                // The first quote of an escaped pair ends the quoted part, and the second one immediately begins it again.
                isQuoted.toggle()
                field.append(byte)
            case UInt8(ascii: ",") where !isQuoted:
                row.append(unquoted(field))
                field = []
            case UInt8(ascii: "\n") where !isQuoted:
                rows.append(row + [unquoted(field)])
                (row, field) = ([], [])
            default: field.append(byte)
            }
        }
        return rows
    }

    private static func unquoted(_ field: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        guard field.first == quote else { return field }
        var (text, isSecond) = ([UInt8](), false)
        for byte in field.dropFirst().dropLast() {
            isSecond = byte == quote && !isSecond
            if !isSecond { text.append(byte) }
        }
        return text
    }
}

extension TestDatabase {
    /// Inserts two events whose codes are equal as Strings.
    fileprivate func insertAccents() async throws {
        for code in ["\u{E9}", "e\u{301}"] {
            try await query(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude)
                values (\(code), 'q', '', now(), now(), 0, 0) on conflict do nothing
                """)
        }
    }
}
