import ArgumentParser

/// `LAT,LON` in degrees.
struct Coordinate: ExpressibleByArgument {
    let latitude: Double
    let longitude: Double

    init?(argument: String) {
        guard let (latitude, longitude) = Self.numbers(argument), Self.problem(with: argument) == nil else {
            return nil
        }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// What is wrong with a text that should be a coordinate; nil if nothing is.
    static func problem(with text: String) -> String? {
        guard let (latitude, longitude) = numbers(text) else {
            return "it takes a latitude and a longitude in degrees, such as 35.8,-117.6"
        }
        if !(-90...90).contains(latitude) { return "the latitude, which comes first, is beyond ±90" }
        return (-360...360).contains(longitude) ? nil : "the longitude is beyond ±360"
    }

    private static func numbers(_ text: String) -> (Double, Double)? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let first = parts[0], let second = parts[1] else { return nil }
        return (first, second)
    }
}
