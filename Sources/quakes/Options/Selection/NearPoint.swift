import ArgumentParser

/// The value of `--near` or of an end of a cross-section: a latitude and a longitude in degrees, or a town.
struct NearPoint {
    let latitude: Double
    let longitude: Double
    /// The town's name, if the point was given as a town.
    let town: String?

    init(_ text: String) throws {
        let numbers = Self.numbers(text)
        guard text.contains(where: \.isNumber) || numbers.contains(where: { $0 != nil }) else {
            let town = try Town.named(text)
            (latitude, longitude, self.town) = (town.latitude, town.longitude, town.fullName)
            return
        }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1] else {
            throw ValidationError("it takes a latitude and a longitude in degrees, such as 35.8,-117.6")
        }
        guard abs(latitude) <= 90 else {
            throw ValidationError("the latitude, which comes first, is beyond ±90")
        }
        guard abs(longitude) <= 360 else { throw ValidationError("the longitude is beyond ±360") }
        (self.latitude, self.longitude, town) = (latitude, longitude, nil)
    }

    var words: String { town ?? "\(latitude), \(longitude)" }

    /// The numbers between commas; nil for a part that is not a number.
    static func numbers(_ text: String) -> [Double?] {
        text.split(separator: ",", omittingEmptySubsequences: false).map {
            Double(String($0.trimmingPrefix { $0 == " " }))
        }
    }
}
