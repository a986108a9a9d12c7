import Glibc

/// Projects points on the globe to points in the picture.
///
/// The whole world is drawn in the Equal Earth projection (Šavrič, Patterson and Jenny 2018,
/// https://doi.org/10.1080/13658816.2018.1504949), which preserves areas. Regions are drawn in the equirectangular projection,
/// which is true to scale along the middle parallel.
struct Projection {
    let region: Region
    let isWorld: Bool
    /// The longitude of the middle meridian.
    let centre: Double
    let origin: SVG.Point
    /// In pixels.
    let width: Double
    let height: Double

    private let unit: Double
    private let narrowing: Double

    init(_ region: Region, origin: SVG.Point, maximumWidth: Double, maximumHeight: Double) {
        self.region = region
        isWorld = region == .world
        centre = region.west + region.width / 2
        narrowing = max(0.05, cos((region.south + region.north) / 2 * .pi / 180))
        let (wide, high) =
            isWorld
            ? (2 * Self.equalEarth(180, 0).x, 2 * Self.equalEarth(0, 90).y)
            : (region.width * narrowing, region.north - region.south)
        unit = min(maximumWidth / wide, maximumHeight / high)
        (width, height) = (wide * unit, high * unit)
        self.origin = .init(x: origin.x + (maximumWidth - width) / 2, y: origin.y)
    }

    /// Degrees east of the middle meridian, from −180 to 180.
    func offset(_ longitude: Double) -> Double {
        Region.wrapped(longitude - centre)
    }

    func point(latitude: Double, longitude: Double) -> SVG.Point {
        point(latitude: latitude, offset: offset(longitude))
    }

    /// - Parameter offset: degrees east of the middle meridian.
    func point(latitude: Double, offset: Double) -> SVG.Point {
        guard isWorld else {
            return .init(
                x: origin.x + width / 2 + offset * narrowing * unit,
                y: origin.y + (region.north - latitude) * unit)
        }
        let (x, y) = Self.equalEarth(offset, latitude)
        return .init(x: origin.x + width / 2 + x * unit, y: origin.y + height / 2 - y * unit)
    }

    func contains(_ event: ChartEvent) -> Bool {
        isWorld
            || (region.south...region.north).contains(event.latitude)
                && abs(offset(event.longitude)) <= region.width / 2
    }

    private static func equalEarth(_ longitude: Double, _ latitude: Double) -> (x: Double, y: Double) {
        let (a1, a2, a3, a4) = (1.340264, -0.081106, 0.000893, 0.003796)
        let root = 3.0.squareRoot() / 2
        let angle = asin(root * sin(latitude * .pi / 180))
        let square = angle * angle
        let sixth = square * square * square
        let x =
            longitude * .pi / 180 * cos(angle)
            / (root * (a1 + 3 * a2 * square + sixth * (7 * a3 + 9 * a4 * square)))
        return (x, angle * (a1 + a2 * square + sixth * (a3 + a4 * square)))
    }
}
