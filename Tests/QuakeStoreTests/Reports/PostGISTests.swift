import Feed
import Foundation
import PostgreSQL
import Subprocess
import TestSupport
import Testing

@testable import QuakeStore

/// Covers what map programs find in a database with PostGIS.
@Suite("PostGIS")
struct PostGISTests {
    let server = TestServer.shared

    @Test("Where PostGIS is not installed, the error names the package")
    func notInstalled() {
        #expect("\(Failure.noPostGIS(version: 15))".contains("apt install postgresql-15-postgis-3"))
    }

    @Test("The view shows each event's epicentre as a point, and establishing it a second time succeeds")
    func view() async throws {
        try await withGeometry { database in
            try await database.withConnection { try await PostGIS.establish(on: $0) }
            let row = try await database.query(
                """
                select count(*) as events, count(*) filter (
                           where st_x(geometry) = longitude and st_y(geometry) = latitude and st_srid(geometry) = 4326) as right
                from report.event_geometry
                """)[0]
            #expect(try row.decode("events") == 200 && row.decode("right") == 200)
            let known = try await database.query(
                "select type, srid from geometry_columns where f_table_name = 'event_geometry'")[0]
            #expect(try known.decode("type") == "POINT" && known.decode("srid") == 4326)
        }
    }

    @Test("If everyone may read the events, everyone may read their geometries")
    func grantedToPublic() async throws {
        try await withGeometry { database in
            try await database.query("grant select on report.event to public")
            try await database.withConnection { try await PostGIS.establish(on: $0) }
            let row = try await database.query(
                "select has_table_privilege('public', 'report.event_geometry', 'select') as may_read")[0]
            #expect(try row.decode("may_read") == true)
        }
    }

    @Test(
        "A transaction that changes events notifies the channel qgis once, and one that changes nothing does not"
    )
    func notifications() async throws {
        try await withGeometry { database in
            let heard = try await database.withConnection { connection in
                try await connection.listen(to: "qgis") { notifications in
                    _ = try await notifications.next(within: .zero)
                    try await database.execute(
                        "update quake set felt = 1; update quake set felt = 2; update quake set felt = 3 where false"
                    )
                    try await database.query("update quake set felt = felt")
                    try await database.query(
                        "update quake set felt = 3 where code = (select min(code) from quake)")
                    // The connection listens only to qgis, so the test ends the wait with a notification `end` on that channel.
                    try await database.query("notify qgis, 'end'")
                    var heard: [String] = []
                    while heard.last != "end", let next = try await notifications.next(within: .seconds(60)) {
                        heard.append(next)
                    }
                    return heard
                }
            }
            #expect(heard == ["quake", "quake", "end"])
        }
    }

    @Test(
        "ogrinfo reads the view as a layer of points", .enabled("needs ogrinfo (gdal-bin)", hasOgrinfo)
    )
    func ogrinfo() async throws {
        try await withGeometry { database in
            let result = try await Subprocess.run(
                .name("ogrinfo"), arguments: ["-so", "PG:\(database.url)", "report.event_geometry"],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(result.standardOutput.contains("Geometry: Point"), "\(result.standardError)")
            #expect(result.standardOutput.contains("Feature Count: 200"))
            #expect(
                result.standardOutput.contains("WGS 84") && result.standardOutput.contains("depth_km: Real"))
        }
    }

    @Test("geopandas reads the view", .needsClients)
    func geopandas() async throws {
        try await withGeometry { database in
            let output = try await Clients.run("geometry.py", [database.url])
            #expect(output.hasPrefix("200 events, EPSG:4326, "))
        }
    }

    @Test(
        "QGIS opens the view as a layer, and refreshes it when an earthquake changes",
        .enabled("needs QGIS (apt install python3-qgis)", hasQGIS))
    func qgis() async throws {
        try await withGeometry { database in
            let script = projectFile("Tests/Clients/qgis_layer.py").path
            let result = try await Subprocess.run(
                .path("/usr/bin/python3"), arguments: [script, database.url],
                output: .string(limit: 1 << 16), error: .string(limit: 1 << 16))
            #expect(
                result.standardOutput == """
                    200 features, EPSG:4326, a layer of points: True
                    refreshed: [(12.0, 34.0)]

                    """, "\(result.standardError.suffix(2000))")
        }
    }

    private func withGeometry(_ body: @Sendable (TestDatabase) async throws -> Void) async throws {
        try await server.withDatabase { database in
            let isInstalled = try await !database.query(
                "select from pg_available_extensions where name = 'postgis'"
            ).isEmpty
            guard isInstalled else { return print("skipped: the server has no PostGIS") }
            try await database.importSample(200)
            try await database.withConnection { try await PostGIS.establish(on: $0) }
            try await body(database)
        }
    }

    private static func hasOgrinfo() async throws -> Bool { try await succeeds("command -v ogrinfo") }

    /// QGIS's modules belong to Debian's Python.
    private static func hasQGIS() async throws -> Bool {
        try await succeeds("/usr/bin/python3 -c 'import psycopg2, qgis.core'")
    }

    private static func succeeds(_ command: String) async throws -> Bool {
        try await Subprocess.run(
            .name("sh"), arguments: ["-c", command], output: .discarded, error: .discarded
        ).terminationStatus.isSuccess
    }
}
