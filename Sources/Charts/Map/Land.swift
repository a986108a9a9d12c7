import EmbeddedFiles

/// The coastlines of Natural Earth at 1:50 million, reduced by `scripts/mapdata` to what a picture shows. They are in the
/// public domain (https://www.naturalearthdata.com/about/terms-of-use/).
public enum Land {
    public static var text: [UInt8] { EmbeddedFiles.file("map/land.txt") }

    /// The 1,249 populated places of Natural Earth at 1:50 million, as `scripts/mapdata` writes them: a line for each, with the zoom
    /// from which on it has a place on a map, its latitude and longitude, its name and its country, separated by tabs.
    public static var places: [UInt8] { EmbeddedFiles.file("map/places.txt") }

    /// Degrees.
    struct Point: Equatable {
        var longitude: Double
        var latitude: Double
    }

    /// Closed rings, outer ones and lakes alike: the last point of each is its first. A ring that crosses the date line continues
    /// beyond 180°; Antarctica's goes by way of the South Pole.
    static let rings: [[Point]] = text.split(separator: UInt8(ascii: "\n")).map(decode)

    /// The islands that are too small for a map of the world: those of Natural Earth at 1:10 million that cover some 5 square
    /// kilometres or more (`scripts/mapdata`).
    static let islands: [[Point]] = EmbeddedFiles.file("map/islands.txt")
        .split(separator: UInt8(ascii: "\n")).map(decode)

    /// Reads an Encoded Polyline of latitudes and longitudes, in hundredths of a degree
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
