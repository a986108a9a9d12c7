import Feed

/// What a picture shows of an earthquake.
public struct ChartEvent: Sendable, Equatable {
    public var time: Instant
    /// Degrees.
    public var latitude = 0.0
    public var longitude = 0.0
    /// Kilometres.
    public var depth: Double?
    public var magnitude: Double?
    /// As in the reports, an event without a type counts as an earthquake.
    public var isEarthquake = true
    /// A map draws its beachball, if it is not nil.
    public var mechanism: MomentTensor?

    /// Whether a map can show it. What the table takes always is; a view's file may hold anything.
    var isOnGlobe: Bool { abs(latitude) <= 90 && abs(longitude) <= 360 }
}

extension ChartEvent {
    public init(_ quake: Quake) {
        self.init(
            time: quake.time, latitude: quake.latitude, longitude: quake.longitude,
            depth: quake.depth.flatMap(Property.depth.accepted),
            magnitude: quake.magnitude.flatMap(Property.magnitude.accepted),
            isEarthquake: quake[.type].text.map { $0 == "earthquake" } ?? true)
    }
}

extension Property {
    /// The number, if the table could have it.
    fileprivate func accepted(_ number: Double) -> Double? {
        abs(number) <= limit ?? .greatestFiniteMagnitude ? number : nil
    }
}

public struct Caption: Sendable {
    public var title: String
    /// Below the picture: what was selected, and where it comes from.
    public var lines: [String]

    public init(title: String, lines: [String]) {
        (self.title, self.lines) = (title, lines)
    }
}
