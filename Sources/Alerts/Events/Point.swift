import Feed
import Glibc

/// A point on the Earth's surface, in degrees.
public struct Point: Sendable, Hashable, Codable {
    public var latitude: Double
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// The distance along the Earth's surface in km.
    public func distance(to other: Point) -> Double {
        greatCircleKilometres(
            fromLatitude: latitude, longitude: longitude,
            toLatitude: other.latitude, longitude: other.longitude)
    }

    /// The direction from this point to `other`: one of `N`, `NE`, … `NW`.
    public func direction(to other: Point) -> String {
        let radians = Double.pi / 180
        let difference = (other.longitude - longitude) * radians
        let (from, to) = (latitude * radians, other.latitude * radians)
        let bearing = atan2(
            sin(difference) * cos(to), cos(from) * sin(to) - sin(from) * cos(to) * cos(difference))
        let octant = Int((bearing / (.pi / 4)).rounded()) & 7
        return ["N", "NE", "E", "SE", "S", "SW", "W", "NW"][octant]
    }
}
