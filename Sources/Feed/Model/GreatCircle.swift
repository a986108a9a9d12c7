import Glibc

/// The distance along the Earth's surface in km, on a sphere of radius 6371 km: the rule of `report.distance_km`, for points that do
/// not come from a database. It is at most 20,016 km.
///
/// - Parameters: degrees. `distance` in the page's `quake.js` computes the same.
public func greatCircleKilometres(
    fromLatitude latitude: Double, longitude: Double,
    toLatitude otherLatitude: Double, longitude otherLongitude: Double
) -> Double {
    func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
    let south = sin(radians(otherLatitude - latitude) / 2)
    let east = sin(radians(otherLongitude - longitude) / 2)
    let haversine = south * south + cos(radians(otherLatitude)) * cos(radians(latitude)) * east * east
    // Rounding can push the antipodes beyond 1, where the arc sine has no value.
    return 2 * 6371 * asin(min(1, haversine.squareRoot()))
}
