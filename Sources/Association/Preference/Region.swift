/// A region in which the solutions of one agency are preferred to all others.
struct Region: Sendable {
    /// The network or agency that is authoritative in the region.
    let owner: String
    /// The corners of a polygon in degrees, with longitudes from −180 to 180. A region never crosses the antimeridian.
    let corners: [(longitude: Double, latitude: Double)]
    private let west: Double
    private let east: Double
    private let south: Double
    private let north: Double

    init(_ owner: String, _ corners: [(longitude: Double, latitude: Double)]) {
        (self.owner, self.corners) = (owner, corners)
        west = corners.map(\.longitude).min() ?? 0
        east = corners.map(\.longitude).max() ?? 0
        south = corners.map(\.latitude).min() ?? 0
        north = corners.map(\.latitude).max() ?? 0
    }

    init(_ owner: String, west: Double, east: Double, south: Double, north: Double) {
        self.init(owner, [(west, south), (east, south), (east, north), (west, north)])
    }

    func contains(longitude: Double, latitude: Double) -> Bool {
        guard (west...east).contains(longitude), (south...north).contains(latitude) else { return false }
        var isInside = false
        var previous = corners[corners.count - 1]
        for corner in corners {
            if (corner.latitude > latitude) != (previous.latitude > latitude) {
                let share = (latitude - corner.latitude) / (previous.latitude - corner.latitude)
                let crossing = corner.longitude + share * (previous.longitude - corner.longitude)
                if longitude < crossing { isInside.toggle() }
            }
            previous = corner
        }
        return isInside
    }

    /// Whether an agency is authoritative at the epicentre of its solution. The first region that contains the epicentre decides.
    static func isAuthoritative(_ network: String, agency: String, at solution: Solution) -> Bool {
        guard owners.contains(network) || owners.contains(agency) else { return false }
        var longitude = solution.longitude
        if longitude > 180 { longitude -= 360 } else if longitude < -180 { longitude += 360 }
        let region = all.first { $0.contains(longitude: longitude, latitude: solution.latitude) }
        return region.map { $0.owner == network || $0.owner == agency } ?? false
    }

    static let all = anss + borders
    private static let owners = Set(all.map(\.owner))

    /// Boxes around countries, drawn for this purpose. Smaller countries come first, because boxes overlap.
    private static let borders = [
        Region("knmi", west: 3.2, east: 7.3, south: 50.7, north: 53.7),
        Region("sed", west: 5.9, east: 10.5, south: 45.8, north: 47.9),
        Region("noa", west: 19.3, east: 29.7, south: 34.7, north: 41.8),
        Region("ingv", west: 6.6, east: 18.6, south: 35.4, north: 47.1),
        Region("resif", west: -5.2, east: 9.6, south: 41.3, north: 51.2),
        Region("geonet", west: 165, east: 180, south: -48.5, north: -33.5),
        Region("nrcan", west: -141, east: -52.6, south: 49, north: 83.2),
        Region("nrcan", west: -95.2, east: -52.6, south: 44.5, north: 49),
    ]
}
