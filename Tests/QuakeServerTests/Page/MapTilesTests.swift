import Foundation
import TestSupport
import Testing

@testable import QuakeServer

@Suite("The map's tiles")
struct MapTilesTests {
    @Test(
        "The tiles are embedded in the executable, and each kind's chart lists them",
        arguments: TileMap.kinds)
    func charts(kind: String) throws {
        let source = projectFile("Sources/QuakeServer/Page/Tiles/\(kind).txt")
        #expect(MapTiles.sources["\(kind).txt"] == Array(try Data(contentsOf: source)))
        let map = try TileMap(kind)
        #expect(map.chart.count == 18 && map.chart.allSatisfy { $0.count == 36 })
        #expect(map.chart.allSatisfy { $0.allSatisfy { (kind == "coast" ? "+#." : "+.").contains($0) } })
        let named = MapTiles.all.keys.filter { $0.hasPrefix("tiles_\(kind)_") }
        #expect(named.count > 100 && named.count == map.chart.joined().count { $0 == "+" })
        #expect(map.tiles.count == named.count)
        for (corner, lines) in map.tiles {
            #expect(!lines.isEmpty && lines.allSatisfy { $0.count > 1 }, "\(corner)")
            let range = 0...10_000
            #expect(
                lines.joined().allSatisfy { range.contains($0.latitude) && range.contains($0.longitude) },
                "\(corner)")
        }
    }

    @Test("The rings of the coast are closed, and cover the area of the earth's land")
    func area() throws {
        let map = try TileMap("coast")
        #expect(map.tiles.values.joined().allSatisfy { $0.count > 3 && $0.first == $0.last })
        var land = map.whole.reduce(0) { $0 + squareKilometres(TileMap.square, at: $1) }
        for (corner, rings) in map.tiles {
            let covered = rings.reduce(0) { $0 + squareKilometres($1, at: corner) }
            #expect(covered > 0 && covered <= squareKilometres(TileMap.square, at: corner), "\(corner)")
            land += covered
        }
        // The earth has 148.9 million km² of land. The tiles do not include the ice shelves of the Antarctic.
        #expect((146e6...149e6).contains(land), "\(land)")
    }

    @Test("Land that reaches the edge of a tile continues in the next tile")
    func seams() throws {
        let map = try TileMap("coast")
        var meetings = 0
        for south in stride(from: -90, to: 90, by: 10) {
            for west in stride(from: -180, to: 180, by: 10) {
                let here = TileMap.Corner(west: west, south: south)
                let east = TileMap.Corner(west: west == 170 ? -180 : west + 10, south: south)
                let north = TileMap.Corner(west: west, south: south + 10)
                for (one, other) in [
                    (map.land(at: .east, of: here), map.land(at: .west, of: east)),
                    south == 80
                        ? ([], []) : (map.land(at: .north, of: here), map.land(at: .south, of: north)),
                ] {
                    // At the date line, the ends of coastlines in Natural Earth's data are up to 200 m apart.
                    let isNear = zip(one, other).allSatisfy {
                        abs($0.lowerBound - $1.lowerBound) < 3 && abs($0.upperBound - $1.upperBound) < 3
                    }
                    #expect(
                        one.count == other.count && isNear && (west == 170 || one == other), "\(here)")
                    meetings += one.count
                }
            }
        }
        #expect(meetings > 1000)
    }

    @Test("The tiles tell land from water close to the coast")
    func places() throws {
        let map = try TileMap("coast")
        for (name, latitude, longitude, isLand) in [
            ("Wellington", -41.29, 174.77, true), ("its harbour", -41.27, 174.86, false),
            ("Kapiti Island", -40.85, 174.91, true), ("Santorini", 36.36, 25.46, true),
            ("its caldera", 36.4, 25.4, false), ("San Francisco", 37.76, -122.44, true),
            ("its bay", 37.7, -122.28, false), ("Angel Island", 37.861, -122.43, true),
            ("Tokyo", 35.69, 139.69, true), ("its bay", 35.45, 139.83, false),
            ("Izu Oshima", 34.73, 139.39, true), ("the Caspian Sea", 42.5, 50.5, false),
            ("Taveuni, in the west", -16.93, 179.93, true), ("Taveuni, in the east", -16.85, -179.97, true),
            ("the sea off Fiji", -17.5, -179.5, false), ("Chukotka", 67, -179.99, true),
            ("the South Pole", -90, 0, true), ("the Ross Sea", -75, -175, false), ("the Sahara", 25, 5, true),
            ("the Atlantic", 35, -40, false),
        ] {
            #expect(map.hasLand(latitude: latitude, longitude: longitude) == isLand, "\(name)")
        }
    }

    @Test("At addresses with the page's version, tiles are compressed and may be cached for ever")
    func serving() async throws {
        try await TestServer.shared.withDatabase { database in
            try await TestSite.run(of: database) { site in
                for (name, bytes) in MapTiles.all.sorted(by: { $0.key < $1.key }).prefix(20) {
                    let path = "/page/\(PageFile.version)/\(name)"
                    let (plain, packed) = (
                        try await site.get(path), try await site.get(path, ["Accept-Encoding": "gzip"])
                    )
                    #expect(plain.status == 200 && plain.text == String(decoding: bytes, as: UTF8.self))
                    #expect(plain.headers["content-type"] == "text/plain; charset=utf-8")
                    #expect(plain.headers["cache-control"] == "public, max-age=31536000, immutable")
                    #expect(packed.headers["content-encoding"] == "gzip")
                }
                let faults = try await site.get("/page/tiles_faults.txt")
                #expect(faults.text.contains("https://creativecommons.org/licenses/by-sa/4.0/"))
                #expect(faults.headers["cache-control"] == "no-cache")
                for name in ["coast.txt", "tiles_coast_5_5.txt", "tiles_rivers.txt"] {
                    #expect(try await site.get("/page/\(name)").status == 404, "\(name)")
                }
            }
        }
    }

    /// The area inside `ring` on a sphere as large as the earth. It is positive if the ring is anticlockwise.
    private func squareKilometres(_ ring: [TileMap.Point], at corner: TileMap.Corner) -> Double {
        func sine(_ point: TileMap.Point) -> Double {
            sin((Double(corner.south) + Double(point.latitude) / 1000) * .pi / 180)
        }
        return -zip(ring, ring.dropFirst()).reduce(0) { sum, edge in
            sum + Double(edge.1.longitude - edge.0.longitude) / 1000 * .pi / 180
                * (sine(edge.0) + sine(edge.1)) / 2
        } * 6371 * 6371
    }
}
