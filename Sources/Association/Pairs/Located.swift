import Glibc

/// The values of a solution that comparisons need, computed once.
struct Located: Sendable {
    let time: Int64
    /// The epicentre as a point on the unit sphere, so that the poles and the antimeridian need no special treatment.
    let x: Double
    let y: Double
    let z: Double
    /// The number of the belt of latitude. The two rows of a pair are in the same belt or in neighbouring ones.
    let belt: Int
    /// In km; NaN if it is unknown.
    let depth: Double
    /// Whether the depth is one of `Parameters.fixedDepths`.
    let isDepthFixed: Bool
    /// NaN if it is unknown.
    let magnitude: Double
    /// The agency's number.
    let agency: Int
    /// The variances of the time, the place and the magnitude.
    let seconds2: Double
    let kilometres2: Double
    let magnitudes2: Double

    init(_ solution: Solution, agency: Int, _ parameters: Parameters) {
        self.agency = agency
        time = solution.time
        let radians = Double.pi / 180
        let latitude = solution.latitude * radians
        let longitude = solution.longitude * radians
        (x, y, z) = (cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
        belt = Self.belt(ofLatitude: solution.latitude, kilometres: parameters.kilometres)
        depth = solution.depth ?? .nan
        isDepthFixed = solution.depth.map(parameters.fixedDepths.contains) ?? false
        magnitude = solution.magnitude ?? .nan
        let author = solution.author.map(parameters.network(ofAuthor:))
        let scatter = parameters.scatter.scatter(of: solution, author: author)
        // A published uncertainty is limited to half the largest allowed difference. With a larger uncertainty, every pair would
        // cost almost nothing.
        seconds2 = Self.variance(
            scatter.seconds, solution.uncertainty.seconds, Scatter.least.seconds, parameters.seconds / 2)
        kilometres2 = Self.variance(
            scatter.kilometres, solution.uncertainty.kilometres, Scatter.least.kilometres,
            parameters.kilometres / 2)
        magnitudes2 = Self.variance(
            scatter.magnitudes, solution.uncertainty.magnitudes, Scatter.least.magnitudes,
            parameters.magnitudes / 2)
    }

    private static func variance(
        _ scatter: Double, _ published: Double?, _ least: Double, _ most: Double
    ) -> Double {
        let known = max(scatter, least)
        let published = published.flatMap { $0.isFinite ? min($0, most) : nil } ?? 0
        let deviation = max(known, published)
        return deviation * deviation
    }

    /// Belts are slightly wider than the largest distance of a pair.
    static func belt(ofLatitude latitude: Double, kilometres: Double) -> Int {
        guard latitude.isFinite else { return 0 }
        let width = kilometres / 111 * 1.01
        return Int(((min(max(latitude, -90), 90) + 90) / width).rounded(.down)) + 1
    }

    /// The radius of the sphere, in km, as in `report.distance_km`.
    static let radius = 6371.0

    /// The square of the straight-line distance to another epicentre, on the unit sphere.
    @inline(__always)
    func chord2(to other: Located) -> Double {
        let (x, y, z) = (x - other.x, y - other.y, z - other.z)
        return x * x + y * y + z * z
    }

    /// Great-circle distance in km.
    func kilometres(to other: Located) -> Double {
        2 * Self.radius * asin(min(1, chord2(to: other).squareRoot() / 2))
    }
}
