import Glibc

/// A vertical section through the earth along a great circle, and the strip of the surface whose events it shows.
public struct Section: Sendable {
    /// In degrees.
    public let start: (latitude: Double, longitude: Double)
    public let end: (latitude: Double, longitude: Double)
    /// The width of the strip in km. Half of it lies on each side of the line.
    public let width: Double
    /// The length along the great circle, in km.
    public let length: Double

    private let direction: SIMD3<Double>
    private let pole: SIMD3<Double>
    private static let radius = 6371.0

    /// - Returns: nil if the ends are the same point or on opposite sides of the earth, because they then do not determine a
    ///   great circle.
    public init?(
        from start: (latitude: Double, longitude: Double), to end: (latitude: Double, longitude: Double),
        width: Double
    ) {
        let (a, b) = (Self.vector(start.latitude, start.longitude), Self.vector(end.latitude, end.longitude))
        let normal = Self.cross(a, b)
        let size = dot(normal, normal).squareRoot()
        guard size > 1e-6 else { return nil }
        (self.start, self.end, self.width) = (start, end, width)
        pole = normal / size
        direction = Self.cross(pole, a)
        length = Self.radius * atan2(size, dot(a, b))
    }

    public func contains(_ event: ChartEvent) -> Bool { distance(of: event) != nil }

    /// An event's distance from the start, along the line, in km; nil if the event is outside the strip.
    func distance(of event: ChartEvent) -> Double? {
        let point = Self.vector(event.latitude, event.longitude)
        let aside = Self.radius * asin(max(-1, min(1, dot(point, pole))))
        guard abs(aside) <= width / 2 else { return nil }
        let a = Self.vector(start.latitude, start.longitude)
        let along = Self.radius * atan2(dot(point, direction), dot(point, a))
        // A tolerance of a metre includes events at the ends of the line.
        return (-0.001...length + 0.001).contains(along) ? max(0, min(length, along)) : nil
    }

    /// A circle that contains the whole strip: its centre in degrees, and its radius in km.
    public var circle: (latitude: Double, longitude: Double, kilometres: Double) {
        let middle = Self.vector(start.latitude, start.longitude) + Self.vector(end.latitude, end.longitude)
        let latitude = atan2(middle.z, (middle.x * middle.x + middle.y * middle.y).squareRoot())
        return (
            latitude * 180 / .pi, atan2(middle.y, middle.x) * 180 / .pi, (length / 2 + width / 2) * 1.001 + 1
        )
    }

    private static func vector(_ latitude: Double, _ longitude: Double) -> SIMD3<Double> {
        let (phi, lambda) = (latitude * .pi / 180, longitude * .pi / 180)
        return SIMD3(cos(phi) * cos(lambda), cos(phi) * sin(lambda), sin(phi))
    }

    private static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
        SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
    }
}
