import Feed

/// The values of an event that charts use.
public struct ChartEvent: Sendable, Equatable {
    public var time: Instant
    /// In degrees.
    public var latitude = 0.0
    public var longitude = 0.0
    /// In kilometres.
    public var depth: Double?
    public var magnitude: Double?
    /// An event without a type counts as an earthquake, as in the reports.
    public var isEarthquake = true
    /// The focal mechanism, which a map draws as a beachball; nil if it is not known.
    public var mechanism: MomentTensor?

    /// Whether a map can show the event. This is true for all rows of the table, but a view's file can contain any numbers.
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
    /// The number if it is within the limits of the table's column, else nil.
    fileprivate func accepted(_ number: Double) -> Double? {
        abs(number) <= limit ?? .greatestFiniteMagnitude ? number : nil
    }
}

public struct Caption: Sendable {
    public var title: String
    /// The lines below the picture, which name the selection and the source of the data.
    public var lines: [String]

    public init(title: String, lines: [String]) {
        (self.title, self.lines) = (title, lines)
    }
}
