import Testing

@testable import Charts

@Suite("Coastlines")
struct LandTests {
    @Test("Rings are closed and are on the globe")
    func rings() {
        #expect(Land.rings.count > 100)
        for ring in Land.rings {
            #expect(ring.count >= 4 && ring.first == ring.last)
            #expect(ring.allSatisfy { abs($0.longitude) <= 540 && abs($0.latitude) <= 90 })
        }
    }

    @Test(
        "Places known to be on land are inside the rings, and places at sea are outside",
        arguments: [
            (46.9, 7.4, true), (36.2, 138.2, true), (-25, 135, true), (65, 178, true), (66, -172, true),
            (-80, 0, true), (37.3, -119.5, true), (0, -150, false), (35, -40, false), (42.5, 50.5, false),
        ])
    func places(latitude: Double, longitude: Double, isLand: Bool) {
        // Count the edges to the east of the point. A ring may be a full turn further east or west, so each edge is also tried a
        // full turn to the west and to the east.
        var crossings = 0
        for ring in Land.rings {
            for turn in [-360.0, 0, 360] {
                for (a, b) in zip(ring, ring.dropFirst())
                where (a.latitude > latitude) != (b.latitude > latitude) {
                    let share = (latitude - a.latitude) / (b.latitude - a.latitude)
                    let east = a.longitude + share * (b.longitude - a.longitude) + turn
                    if east > longitude { crossings += 1 }
                }
            }
        }
        #expect((crossings % 2 == 1) == isLand)
    }
}
