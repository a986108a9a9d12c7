import Foundation

/// A point on the Earth's surface, in degrees.
public struct Point: Sendable, Hashable, Codable {
    public var latitude: Double
    public var longitude: Double

    public init(latitude: Double, longitude: Double) {
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// The distance along the Earth's surface in km, on a sphere of radius 6371 km. It is at most 20,016 km.
    ///
    /// `distance` in the page's `quake.js` computes the same.
    public func distance(to other: Point) -> Double {
        let radians = Double.pi / 180
        let across = sin((other.longitude - longitude) * radians / 2)
        let along = sin((other.latitude - latitude) * radians / 2)
        let h = along * along + cos(latitude * radians) * cos(other.latitude * radians) * across * across
        // Rounding can push the antipodes beyond 1, where the arc sine has no value.
        return 2 * 6371 * asin(min(1, h.squareRoot()))
    }

    /// Where `other` lies as seen from here: one of `N`, `NE`, … `NW`.
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
