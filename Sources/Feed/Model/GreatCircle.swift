import Glibc

/// The distance along the Earth's surface in km, on a sphere of radius 6371 km. It is at most 20,016 km. `report.distance_km` in
/// SQL and `distance` in the page's `quake.js` compute the same.
///
/// - Parameters: latitudes and longitudes in degrees.
public func greatCircleKilometres(
    fromLatitude latitude: Double, longitude: Double,
    toLatitude otherLatitude: Double, longitude otherLongitude: Double
) -> Double {
    func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
    let south = sin(radians(otherLatitude - latitude) / 2)
    let east = sin(radians(otherLongitude - longitude) / 2)
    let haversine = south * south + cos(radians(otherLatitude)) * cos(radians(latitude)) * east * east
    // For antipodes, rounding can make the square root larger than 1, for which the arc sine is not defined.
    return 2 * 6371 * asin(min(1, haversine.squareRoot()))
}
