import EmbeddedFiles

/// The coastlines of Natural Earth at 1:50 million, reduced by `scripts/mapdata` to the detail that a picture shows. They are in
/// the public domain (https://www.naturalearthdata.com/about/terms-of-use/).
public enum Land {
    /// The 1,249 populated places of Natural Earth at 1:50 million, as `scripts/mapdata` writes them. The line of a place has
    /// these fields, separated by tabs: the lowest zoom level at which maps show it, latitude, longitude, name and country.
    public static var places: [UInt8] { EmbeddedFiles.file("map/places.txt") }

    /// In degrees.
    struct Point: Equatable {
        var longitude: Double
        var latitude: Double
    }

    /// The closed rings of land and lakes. The last point of each ring equals its first. A ring that crosses the date line
    /// continues beyond 180°. Antarctica's ring goes past the South Pole.
    static let rings: [[Point]] = EmbeddedFiles.file("map/land.txt")
        .split(separator: UInt8(ascii: "\n")).map(decode)

    /// Small islands of Natural Earth at 1:10 million (`scripts/mapdata`), of about 5 square kilometres or more. Only maps of a
    /// region show them, because they are too small for a map of the world.
    static let islands: [[Point]] = EmbeddedFiles.file("map/islands.txt")
        .split(separator: UInt8(ascii: "\n")).map(decode)

    /// Decodes an Encoded Polyline of latitudes and longitudes in hundredths of a degree
    /// (https://developers.google.com/maps/documentation/utilities/polylinealgorithm).
    private static func decode(_ line: ArraySlice<UInt8>) -> [Point] {
        var numbers: [Int] = []
        var number = 0
        var shift = 0
        for byte in line {
            let chunk = Int(byte) - 63
            number |= (chunk & 0x1F) << shift
            shift += 5
            guard chunk < 0x20 else { continue }
            numbers.append(number & 1 == 1 ? ~(number >> 1) : number >> 1)
            (number, shift) = (0, 0)
        }
        var (latitude, longitude) = (0, 0)
        return stride(from: 0, to: numbers.count - 1, by: 2).map { index in
            latitude += numbers[index]
            longitude += numbers[index + 1]
            return Point(longitude: Double(longitude) / 100, latitude: Double(latitude) / 100)
        }
    }
}
