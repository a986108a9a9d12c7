import Feed
import Testing

@testable import quakes

@Suite("The list's table")
struct QuakeTableTests {
    @Test(
        "At 80, 120 and 200 columns it shows what matters most, and more if there is room",
        arguments: [80, 120, 200])
    func golden(width: Int) throws {
        #expect(try table().render(width: width, inColour: false) == Self.golden[width])
    }

    @Test("In colour the header is dim and large events are bold; nothing else differs")
    func colour() throws {
        let plain = try table().render(width: 80, inColour: false)
        let coloured = try table().render(width: 80, inColour: true)

        let lines = coloured.split(separator: "\n")
        #expect(lines[0].hasPrefix("\u{1B}[2m"))
        #expect(lines[1].hasPrefix("\u{1B}[1m2025-12-31 23:41:00"))
        #expect(!lines[2].contains("\u{1B}"))
        #expect(coloured.replacing(/\u{1B}\[\d*m/, with: "") == plain)
    }

    private func table() throws -> QuakeTable {
        var table = QuakeTable()
        for quake in try Self.quakes() { table.append(quake) }
        return table
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
        80: """
        TIME (UTC)            MAG  TYPE  DEPTH KM  PLACE                      CODE
        2025-12-31 23:41:00   7.1  mww      412.0  99 km W of 新月港, Tōgen…  q07000000j
        2025-12-31 23:39:00   1.4  md        -0.7  12 km N of Saltmere, Ald…  q0112
        2025-12-31 22:58:00                        Port Ember 🌋              q0253x
        2025-12-31 22:03:00  -0.3  ml         2.1  155 km SSE of the northe…  q074000004

        """,
        120: """
        TIME (UTC)            MAG  TYPE  DEPTH KM  PLACE                                     STATUS     FELT  ALERT   CODE
        2025-12-31 23:41:00   7.1  mww      412.0  99 km W of 新月港, Tōgen Islands          reviewed   3120  orange  q07000000j
        2025-12-31 23:39:00   1.4  md        -0.7  12 km N of Saltmere, Aldra                automatic                q0112
        2025-12-31 22:58:00                        Port Ember 🌋                                                      q0253x
        2025-12-31 22:03:00  -0.3  ml         2.1  155 km SSE of the northernmost of the B…  reviewed      0          q074000004

        """,
        200: """
        TIME (UTC)            MAG  TYPE  DEPTH KM  PLACE                                                         STATUS     FELT  ALERT   UPDATED              URL                                    CODE
        2025-12-31 23:41:00   7.1  mww      412.0  99 km W of 新月港, Tōgen Islands                              reviewed   3120  orange  2025-12-31 23:51:00  https://example.org/quakes/q07000000j  q07000000j
        2025-12-31 23:39:00   1.4  md        -0.7  12 km N of Saltmere, Aldra                                    automatic                2025-12-31 23:49:00  https://example.org/quakes/q0112       q0112
        2025-12-31 22:58:00                        Port Ember 🌋                                                                          2025-12-31 23:08:00  https://example.org/quakes/q0253x      q0253x
        2025-12-31 22:03:00  -0.3  ml         2.1  155 km SSE of the northernmost of the Brume Islands/Îles de…  reviewed      0          2025-12-31 22:13:00  https://example.org/quakes/q074000004  q074000004

        """,
    ]
}
