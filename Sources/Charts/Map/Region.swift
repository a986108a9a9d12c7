import Glibc

/// The part of the earth that a map shows, between two parallels and two meridians.
public struct Region: Sendable, Equatable {
    /// In degrees.
    public let south: Double
    public let north: Double
    /// The western edge, in degrees from −360 to 360.
    public let west: Double
    /// The degrees of longitude from the western edge to the eastern edge, up to 360.
    public let width: Double

    public init(south: Double, west: Double, north: Double, width: Double) {
        self.south = max(-90, south)
        self.north = min(90, north)
        self.west = west
        self.width = min(360, width)
    }

    /// The whole earth. The edge of the map is in the Atlantic, so that it does not cut the earthquake belts around the Pacific.
    public static let world = Region(south: -90, west: -30, north: 90, width: 360)

    /// The region around a circle on the sphere.
    public init(around latitude: Double, _ longitude: Double, kilometres: Double) {
        let angle = min(180, kilometres / 6371 * 180 / .pi)
        let (south, north) = (latitude - angle, latitude + angle)
        guard south > -90, north < 90 else {
            self.init(south: south, west: longitude - 180, north: north, width: 360)
            return
        }
        let ratio = sin(angle * .pi / 180) / cos(latitude * .pi / 180)
        let half = ratio >= 1 ? 180 : asin(ratio) * 180 / .pi
        self.init(south: south, west: longitude - half, north: north, width: 2 * half)
    }

    /// The smallest region that contains all events; nil if there are none. It may cross the date line.
    public init?(fitting events: [ChartEvent]) {
        let events = events.filter(\.isOnGlobe)
        guard let first = events.first else { return nil }
        let longitudes = events.map { Self.wrapped($0.longitude) }.sorted()
        // The widest gap between neighbouring longitudes is outside the region.
        var (west, gap) = (longitudes[0], longitudes[0] + 360 - (longitudes.last ?? 0))
        for (left, right) in zip(longitudes, longitudes.dropFirst()) where right - left > gap {
            (west, gap) = (right, right - left)
        }
        let latitudes = events.reduce(into: (first.latitude, first.latitude)) {
            $0 = (min($0.0, $1.latitude), max($0.1, $1.latitude))
        }
        self.init(south: latitudes.0, west: west, north: latitudes.1, width: 360 - gap)
    }

    /// The region with a margin of a twentieth on each side, and at least as large as a map needs. A region that is nearly as
    /// wide as the world becomes the whole world.
    public var padded: Region {
        guard width < 300 else { return .world }
        let middle = (south + north) / 2
        let height = max((north - south) * 1.1, 0.2)
        let narrowing = max(0.05, cos(min(85, abs(middle)) * .pi / 180))
        // On the map, neither side is more than three times as long as the other.
        let newWidth = min(360, max(width * 1.1, height / narrowing / 3, 0.2))
        let newHeight = max(height, newWidth * narrowing / 3)
        guard newWidth < 330 else { return .world }
        return Region(
            south: middle - newHeight / 2, west: west - (newWidth - width) / 2,
            north: middle + newHeight / 2, width: newWidth)
    }

    public func contains(_ other: Region) -> Bool {
        let offset = (other.west - west) - 360 * ((other.west - west) / 360).rounded(.down)
        return south <= other.south && other.north <= north && (width >= 360 || offset + other.width <= width)
    }

    /// The equivalent longitude from −180 (included) to 180.
    static func wrapped(_ longitude: Double) -> Double {
        longitude - 360 * ((longitude + 180) / 360).rounded(.down)
    }
}
