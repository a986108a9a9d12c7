import Feed
import Foundation
import QuakeStore
import TestSupport
import Testing

@testable import quakes

@Suite("The table of quakes list")
struct QuakeTableTests {
    @Test(
        "The table has the most important columns at a narrow terminal, and more columns at a wider one",
        arguments: [60, 80, 120, 200])
    func golden(width: Int) throws {
        #expect(text(try Self.quakes(), at: Terminal(width: width)) == Self.golden[width])
    }

    @Test("With --near, the table shows the distance from that place")
    func distance() throws {
        let near = QuakeSelection.Circle(latitude: 1, longitude: 0, kilometres: 200)
        let lines = text(try Self.quakes(), at: Terminal(width: 80), near: near).split(separator: "\n")
        #expect(lines[0].contains("KM AWAY") && lines[1].contains("  111.2  "))
        // Both points are on a meridian of a sphere with a radius of 6371 km.
        #expect(abs(near.distance(toLatitude: 2, longitude: 0) - 6371 * Double.pi / 180) < 1e-9)
    }

    @Test(
        "Magnitudes and alerts are coloured, and codes are links to the events' pages, without other changes")
    func colour() throws {
        let plain = text(try Self.quakes(), at: Terminal(width: 120))
        let styled = text(try Self.quakes(), at: Terminal(width: 120, hasStyles: true, hasLinks: true))

        let lines = styled.split(separator: "\n")
        #expect(lines[0].hasPrefix("\u{1B}[2mTIME (UTC)\u{1B}[0m  "))
        #expect(lines[1].hasPrefix("2025-12-31 23:41:00   \u{1B}[1;31m7.1\u{1B}[0m  mww       "))
        #expect(lines[1].contains("  \u{1B}[38;5;208morange\u{1B}[0m  "))
        #expect(
            lines[1].hasSuffix(
                "  \u{1B}]8;;https://example.org/quakes/q07000000j\u{1B}\\q07000000j\u{1B}]8;;\u{1B}\\"))
        #expect(lines[2].hasPrefix("2025-12-31 23:39:00   \u{1B}[2m1.4\u{1B}[0m  md"))
        #expect(styled.replacing(/\u{1B}\[[\d;]*m|\u{1B}\]8;;[^\u{1B}]*\u{1B}\\/, with: "") == plain)
    }

    @Test(
        "No line of a real feed is wider than the terminal", .needsRealFeeds, arguments: [60, 80, 120, 200])
    func realFeeds(width: Int) async throws {
        for name in RealFeeds.names {
            let near = QuakeSelection.Circle(latitude: 0, longitude: 0, kilometres: 1)
            let quakes = try Self.quakes(inFeed: RealFeeds.path(name))
            let text = text(quakes, at: Terminal(width: width), near: near)
            let lines = text.split(separator: "\n")
            #expect(lines.count == quakes.count + 1 && quakes.count > 100)
            #expect(lines.allSatisfy { terminalWidth(of: String($0)) <= width }, "\(name)")
        }
    }

    private func text(
        _ quakes: [Quake], at terminal: Terminal, near: QuakeSelection.Circle? = nil
    ) -> String {
        quakes.table(Quake.columns(near: near, times: .utc), at: terminal)
    }

    private static func quakes() throws -> [Quake] {
        [
            try quake(
                "q07000000j", 1_767_224_460_000, 7.06, "mww", 412, "99 km W of 新月港, Tōgen Islands",
                "reviewed",
                3120, "orange"),
            try quake(
                "q0112", 1_767_224_340_123, 1.44, "md", -0.7, "12 km N of Saltmere, Aldra", "automatic", nil,
                nil),
            try quake("q0253x", 1_767_221_880_000, nil, nil, nil, "Port Ember 🌋", nil, nil, nil),
            try quake(
                "q074000004", 1_767_218_580_999, -0.34, "ml", 2.06,
                "155 km SSE of the northernmost of the Brume Islands/Îles de la Brume, Outer Ōkaze Region",
                "reviewed", 0, nil),
        ]
    }

    private static func quakes(inFeed path: String) throws -> [Quake] {
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
        let features = try #require((document as? [String: Any])?["features"] as? [[String: Any]])
        return try features.map { feature in
            let properties = try #require(feature["properties"] as? [String: Any])
            let coordinates = (feature["geometry"] as? [String: Any])?["coordinates"] as? [Double]
            return try quake(
                try #require(feature["id"] as? String), try #require(properties["time"] as? Int64),
                properties["mag"] as? Double, properties["magType"] as? String, coordinates?.last,
                properties["place"] as? String ?? "", properties["status"] as? String,
                (properties["felt"] as? Int).map { Int32($0) }, properties["alert"] as? String)
        }
    }

    private static func quake(
        _ code: String, _ time: Int64, _ magnitude: Double?, _ type: String?, _ depth: Double?,
        _ place: String, _ status: String?, _ felt: Int32?, _ alert: String?
    ) throws -> Quake {
        let values: [Property: Quake.Value?] = [
            .code: .text(code), .net: .text("q0"), .netCode: .text(String(code.dropFirst(2))),
            .time: .time(Instant(milliseconds: time)),
            .updated: .time(Instant(milliseconds: time + 600_000)),
            .longitude: .number(0), .latitude: .number(0), .depth: depth.map { .number($0) },
            .magnitude: magnitude.map { .number($0) }, .magnitudeType: type.map { .text($0) },
            .place: .text(place), .status: status.map { .text($0) }, .felt: felt.map { .integer($0) },
            .alert: alert.map { .text($0) }, .url: .text("https://example.org/quakes/\(code)"),
        ]
        return try Quake { (values[$0] ?? nil) ?? .null }
    }

    private static let golden = [
        60: """
        TIME (UTC)            MAG  PLACE                  CODE
        2025-12-31 23:41:00   7.1  99 km W of 新月港, T…  q07000000j
        2025-12-31 23:39:00   1.4  12 km N of Sa…, Aldra  q0112
        2025-12-31 22:58:00        Port Ember 🌋          q0253x
        2025-12-31 22:03:00  -0.3  155 km SSE of the no…  q074000004

        """,
        80: """
        TIME (UTC)            MAG  DEPTH KM  PLACE                            CODE
        2025-12-31 23:41:00   7.1     412.0  99 km W of 新月…, Tōgen Islands  q07000000j
        2025-12-31 23:39:00   1.4      -0.7  12 km N of Saltmere, Aldra       q0112
        2025-12-31 22:58:00                  Port Ember 🌋                    q0253x
        2025-12-31 22:03:00  -0.3       2.1  155 km SSE…, Outer Ōkaze Region  q074000004

        """,
        120: """
        TIME (UTC)            MAG  MAG TYPE  DEPTH KM  PLACE                              ALERT     LAT    LON  FELT  CODE
        2025-12-31 23:41:00   7.1  mww          412.0  99 km W of 新月港, Tōgen Islands   orange  0.000  0.000  3120  q07000000j
        2025-12-31 23:39:00   1.4  md            -0.7  12 km N of Saltmere, Aldra                 0.000  0.000        q0112
        2025-12-31 22:58:00                            Port Ember 🌋                              0.000  0.000        q0253x
        2025-12-31 22:03:00  -0.3  ml             2.1  155 km SSE o…, Outer Ōkaze Region          0.000  0.000     0  q074000004

        """,
        200: """
        TIME (UTC)            MAG  MAG TYPE  DEPTH KM  PLACE                                       ALERT     LAT    LON  FELT  STATUS     UPDATED              URL                                    CODE
        2025-12-31 23:41:00   7.1  mww          412.0  99 km W of 新月港, Tōgen Islands            orange  0.000  0.000  3120  reviewed   2025-12-31 23:51:00  https://example.org/quakes/q07000000j  q07000000j
        2025-12-31 23:39:00   1.4  md            -0.7  12 km N of Saltmere, Aldra                          0.000  0.000        automatic  2025-12-31 23:49:00  https://example.org/quakes/q0112       q0112
        2025-12-31 22:58:00                            Port Ember 🌋                                       0.000  0.000                   2025-12-31 23:08:00  https://example.org/quakes/q0253x      q0253x
        2025-12-31 22:03:00  -0.3  ml             2.1  155 km SSE of the nor…, Outer Ōkaze Region          0.000  0.000     0  reviewed   2025-12-31 22:13:00  https://example.org/quakes/q074000004  q074000004

        """,
    ]
}
