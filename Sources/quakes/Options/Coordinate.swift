import ArgumentParser

/// `LAT,LON` in degrees.
struct Coordinate: ExpressibleByArgument {
    let latitude: Double
    let longitude: Double

    init?(argument: String) {
        let parts = argument.split(separator: ",").map { Double($0) }
        guard parts.count == 2, let latitude = parts[0], let longitude = parts[1], abs(latitude) <= 90,
            abs(longitude) <= 360
        else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}
