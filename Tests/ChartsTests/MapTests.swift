import Feed
import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Charts

@Suite("Maps")
struct MapTests {
    private let caption = Caption(title: "Earthquakes", lines: ["Data: somewhere"])

    @Test("On a map of a region, an event is drawn at its relative position within the region")
    func region() throws {
        let region = Region(south: 30, west: 170, north: 50, width: 30)
        let places: [(Double, Double)] = [
            (40, 185), (40, -175), (30, 170), (50, -160), (35, 177.5), (45, 192.5 - 360),
        ]
        let events = places.map { event($0.0, $0.1, magnitude: 6) }

        let picture = try #require(Picture(QuakeMap.svg(events, region: region, caption: caption)))

        // Read the map's frame from the path of the sea.
        let frame = try #require(picture.elements.first { $0.attributes["class"] == "sea" }?.attributes["d"])
        let numbers = frame.split { "MLZ ".contains($0) }.compactMap { Double($0) }
        let (left, right) = (numbers[0], numbers[4])
        let (bottom, top) = (numbers[1], numbers[3])
        // The scale is true along the middle parallel: 30 degrees of longitude equal 30 cos 40° degrees of latitude.
        #expect(abs((right - left) / (bottom - top) - 30 * cos(40 * Double.pi / 180) / 20) < 0.01)
        let expected: Set<[Int]> = Set(
            places.map { latitude, longitude in
                let east = (longitude - 170 + 720).truncatingRemainder(dividingBy: 360)
                return [
                    Int((left + east / 30 * (right - left)).rounded()),
                    Int((bottom - (latitude - 30) / 20 * (bottom - top)).rounded()),
                ]
            })
        #expect(
            Set(picture.events.map { [Int($0.number("cx")!.rounded()), Int($0.number("cy")!.rounded())] })
                == expected)
    }

    @Test("The map of the world preserves areas, and its middle meridian is straight")
    func world() {
        let projection = Projection(
            .world, origin: .init(x: 0, y: 0), maximumWidth: 1000, maximumHeight: 1000)
        #expect(projection.centre == 150)
        for latitude in stride(from: -80.0, through: 80, by: 20) {
            #expect(abs(projection.point(latitude: latitude, longitude: 150).x - 500) < 1e-9)
        }
        /// The area of a small cell on the map, relative to its area on the sphere.
        func enlargement(_ latitude: Double, _ longitude: Double) -> Double {
            func at(_ north: Double, _ east: Double) -> SVG.Point {
                projection.point(latitude: latitude + north, longitude: longitude + east)
            }
            let (a, b, c, d) = (at(-0.1, -0.1), at(-0.1, 0.1), at(0.1, 0.1), at(0.1, -0.1))
            let doubled = (c.x - a.x) * (d.y - b.y) - (d.x - b.x) * (c.y - a.y)
            return abs(doubled) / 2 / cos(latitude * .pi / 180)
        }
        let middle = enlargement(0, 150)
        for (latitude, longitude) in [(0.0, -40.0), (35, 139), (-60, 20), (70, -150), (-33, -72)] {
            #expect(abs(enlargement(latitude, longitude) / middle - 1) < 0.002)
        }
    }

    @Test("A region that fits events crosses the antimeridian if this makes it smaller")
    func fitting() throws {
        let region = try #require(Region(fitting: [event(-10, 179), event(-20, -178), event(-15, 181.5)]))
        #expect(region == Region(south: -20, west: 179, north: -10, width: 3))
        #expect(Region(fitting: []) == nil)
        let one = try #require(Region(fitting: [event(5, 5)])).padded
        #expect(one.width > 0.1 && one.north > one.south)
    }

    @Test("A region around a circle contains the whole circle, even near a pole")
    func circle() {
        let region = Region(around: 60, 179, kilometres: 500)
        for bearing in stride(from: 0.0, to: 360, by: 5) {
            // The point at a distance of 500 km in this direction.
            let (angle, course) = (500 / 6371.0, bearing * .pi / 180)
            let start = 60 * Double.pi / 180
            let latitude = asin(sin(start) * cos(angle) + cos(start) * sin(angle) * cos(course))
            let east = atan2(sin(course) * sin(angle) * cos(start), cos(angle) - sin(start) * sin(latitude))
            #expect((region.south - 1e-9...region.north + 1e-9).contains(latitude * 180 / .pi))
            #expect(abs(east) * 180 / .pi <= region.width / 2 + 1e-9)
        }
        #expect(Region(around: 89, 0, kilometres: 500).width == 360)
    }

    @Test("Symbols are darker for deeper events and larger for stronger ones; small symbols are drawn on top")
    func symbols() throws {
        let events = [
            event(0, 0, magnitude: 5, depth: 10), event(10, 0, magnitude: 7, depth: 600),
            event(20, 0, magnitude: 6, depth: 100), event(30, 0, magnitude: 4, depth: nil),
        ]
        let picture = try #require(Picture(QuakeMap.svg(events, region: .world, caption: caption)))

        #expect(picture.events.map { $0.attributes["class"] } == ["d5", "d2", "d0", "d6"])
        let radii = picture.events.compactMap { $0.number("r") }
        #expect(radii == radii.sorted(by: >) && Set(radii).count == 4)
        let lightness = Palette.depths.dropLast().map { color in
            let value = Int(color.dropFirst(), radix: 16) ?? 0
            return 0.299 * Double(value >> 16) + 0.587 * Double(value >> 8 & 255) + 0.114
                * Double(value & 255)
        }
        for (lighter, darker) in zip(lightness, lightness.dropFirst()) { #expect(lighter - darker > 15) }
    }

    @Test("No coastline jumps across the map, even at the date line or at the South Pole")
    func coasts() {
        for region in [Region.world, Region(south: -85, west: 100, north: 80, width: 160)] {
            let projection = Projection(
                region, origin: .init(x: 0, y: 0), maximumWidth: 1000, maximumHeight: 1000)
            let paths = LandPaths(projection).coast.split(separator: "M")
            #expect(paths.count > 50)
            for path in paths {
                let points = path.split(separator: "L").map {
                    $0.split(separator: " ").compactMap { Double($0) }
                }
                for (a, b) in zip(points, points.dropFirst()) {
                    #expect(abs(a[0] - b[0]) < 60, "\(a) to \(b)")
                }
            }
        }
    }

    @Test(
        "The picture is well-formed and shows special characters in its title; U+FFFD replaces forbidden ones"
    )
    func escaping() throws {
        let title = "<b>&\"'\u{1}]]> Ōmori"
        let picture = try #require(
            Picture(QuakeMap.svg([], region: .world, caption: Caption(title: title, lines: [title]))))
        #expect(picture.texts.count { $0 == title.replacing("\u{1}", with: "\u{FFFD}") } == 2)
    }

    @Test("A picture of 100,000 events is smaller than 4 MB")
    func many() throws {
        var random = SplitMix64(seed: 1)
        let events = (0..<100_000).map { _ in
            event(
                .random(in: -90...90, using: &random), .random(in: -180...180, using: &random),
                magnitude: .random(in: 0...1, using: &random) * .random(in: 1...8, using: &random),
                depth: .random(in: 0...700, using: &random))
        }
        let svg = QuakeMap.svg(events, region: .world, caption: caption)
        #expect(svg.utf8.count < 4_000_000)
        #expect(Picture(svg) != nil)
    }

    private func event(
        _ latitude: Double, _ longitude: Double, magnitude: Double? = 5, depth: Double? = 10
    ) -> ChartEvent {
        ChartEvent(
            time: Instant(milliseconds: 0), latitude: latitude, longitude: longitude, depth: depth,
            magnitude: magnitude)
    }
}
