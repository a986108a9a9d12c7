import Feed
import Foundation
import PostgreSQL
import QuakeStore
import TestSupport
import Testing

@Suite("Real feeds", .needsRealFeeds)
struct RealFeedTests {
    let server = TestServer.shared

    @Test(
        "Every feature of a real feed is stored, with the values that an independent decoder reads",
        arguments: RealFeeds.names)
    func storedAsDecoded(name: String) async throws {
        try await server.withDatabase { database in
            let document = try JSONDecoder().decode(
                OracleDocument.self, from: Data(contentsOf: URL(filePath: RealFeeds.path(name))))

            let summary = try await database.importFile(RealFeeds.path(name))

            #expect(summary.counts.seen == document.features.count)
            #expect(summary.figures == [document.features.count, 0, 0, 0, 0])
            let stored = try await database.rows()
            for feature in document.features {
                #expect(stored[feature.id] == feature.row)
            }
        }
    }

    @Test(
        "After a day feed, an import of the next day's week feed counts new, revised and unchanged events correctly"
    )
    func dayThenWeek() async throws {
        try await server.withDatabase { database in
            let day = try await database.importFile(RealFeeds.path("2014-04-14_all_day.geojson"))
            let week = try await database.importFile(RealFeeds.path("2014-04-15_all_week.geojson"))

            #expect(day.figures == [146, 0, 0, 0, 0])
            #expect(week.figures == [1371, 50, 92, 0, 0])
        }
    }
}

extension TestDatabase {
    /// Every row of `quake` by code, decoded from a JSON object that the server made.
    fileprivate func rows() async throws -> [String: OracleRow] {
        let rows = try await query(
            """
            select code, to_jsonb(quake) - 'imported_at'
                   || jsonb_build_object('time', extract(epoch from time) * 1000,
                                         'updated', extract(epoch from updated) * 1000) as row
            from quake
            """)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                let json = Data(try row.decode("row", as: String.self).utf8)
                return (try row.decode("code"), try decoder.decode(OracleRow.self, from: json))
            })
    }
}

/// The feed, decoded by Foundation.
private struct OracleDocument: Decodable {
    let features: [OracleFeature]
}

private struct OracleFeature: Decodable {
    struct Properties: Decodable {
        let mag: Double?, place: String?, time: Int64, updated: Int64, tz: Int?, url: String?, detail: String?
        let felt: Int?, cdi: Double?, mmi: Double?, alert: String?, status: String?, tsunami: Int?, sig: Int?
        let net: String, code: String, ids: String?, sources: String?, types: String?, nst: Int?
        let dmin: Double?, rms: Double?, gap: Double?, magType: String?, type: String?, title: String?
    }
    struct Geometry: Decodable { let coordinates: [Double?] }
    let id: String
    let properties: Properties
    let geometry: Geometry

    /// The row that must be stored for this feature.
    var row: OracleRow {
        func list(_ text: String?) -> [String]? { text?.split(separator: ",").map(String.init) }
        let (p, coordinates) = (properties, geometry.coordinates)
        return OracleRow(
            code: id, net: p.net, netCode: p.code, magnitude: p.mag, magnitudeType: p.magType,
            place: p.place,
            title: p.title, url: p.url, detail: p.detail, status: p.status, alert: p.alert, type: p.type,
            time: p.time, updated: p.updated, tz: p.tz, felt: p.felt, sig: p.sig, nst: p.nst, cdi: p.cdi,
            mmi: p.mmi, dmin: p.dmin, rms: p.rms, gap: p.gap, tsunami: p.tsunami.map { $0 == 1 },
            ids: list(p.ids), sources: list(p.sources), types: list(p.types), longitude: coordinates[0],
            latitude: coordinates[1], depth: coordinates[2], extra: nil)
    }
}

private struct OracleRow: Decodable, Equatable {
    let code: String, net: String, netCode: String, magnitude: Double?, magnitudeType: String?
    let place: String?, title: String?, url: String?, detail: String?, status: String?, alert: String?
    let type: String?, time: Int64, updated: Int64, tz: Int?, felt: Int?, sig: Int?, nst: Int?
    let cdi: Double?, mmi: Double?, dmin: Double?, rms: Double?, gap: Double?, tsunami: Bool?
    let ids: [String]?, sources: [String]?, types: [String]?
    let longitude: Double?, latitude: Double?, depth: Double?, extra: [String: String]?
}
