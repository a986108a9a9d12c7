import Feed

/// An earthquake with the columns of the table `quake` that rules and messages use.
///
/// Rows of several agencies that describe one earthquake make one event. Its `key` is the code of the earthquake, and its values
/// are from the preferred solution and magnitude.
public struct AlertEvent: Sendable, Equatable, Codable {
    /// The earthquake's identity in the ledger. Without associations, it equals `code`.
    public var key: ExactText
    /// The code of the preferred row.
    public var code: ExactText
    /// The ids that the preferred row lists and, if several rows describe the earthquake, the codes of these rows. The event's
    /// key in the ledger may be one of them.
    public var ids: [ExactText] = []
    /// The networks or agencies that report the event (`net`).
    public var agencies: [String] = []
    public var magnitude: Double?
    public var magnitudeType: String?
    public var place: String?
    /// The origin time.
    public var time: Instant
    public var latitude: Double
    public var longitude: Double
    /// In km.
    public var depth: Double?
    /// `automatic`, `reviewed` or another word of the agency.
    public var status: String?
    /// The type of the event, such as `earthquake` or `quarry blast`; nil counts as an earthquake.
    public var type: String?
    /// The types of the event's products.
    public var types: [String] = []
    /// The number of stations that the location is based on.
    public var stations: Int?
    public var url: String?

    public init(
        key: ExactText? = nil, code: ExactText, magnitude: Double?, time: Instant, latitude: Double,
        longitude: Double
    ) {
        self.key = key ?? code
        self.code = code
        self.magnitude = magnitude
        self.time = time
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    public var point: Point { Point(latitude: latitude, longitude: longitude) }

    public var isReviewed: Bool { ReviewStatus.isReviewed(status) }

    /// Whether the event is a test, an exercise or a scenario. The USGS marks scenarios by their products. Other marks are words
    /// such as `test` in the type, in the status, or at the beginning of the place. Later in the place, `Test` can be part of a
    /// name.
    public var isExercise: Bool {
        let marks: Set = ["scenario", "exercise", "training", "test", "drill"]
        func words(_ text: String?) -> [Substring] {
            text?.lowercased().split { !$0.isLetter } ?? []
        }
        return types.contains { $0 == "scenario" || $0.hasSuffix("-scenario") }
            || (words(type) + words(status) + words(place).prefix(1)).contains { marks.contains(String($0)) }
    }
}

/// The state of an event before and after a commit, a pass of several commits, or a fresh snapshot.
public struct EventChange: Sendable, Equatable {
    /// nil if the event did not exist before.
    public var before: AlertEvent?
    /// nil if the event was deleted.
    public var after: AlertEvent?
    /// For a deleted event, the code under which it continues.
    public var supersededBy: ExactText?
    /// When the change was committed; nil after a fresh snapshot, which shows only the states before and after.
    public var committedAt: Instant?

    public init(
        before: AlertEvent?, after: AlertEvent?, supersededBy: ExactText? = nil, committedAt: Instant? = nil
    ) {
        (self.before, self.after) = (before, after)
        (self.supersededBy, self.committedAt) = (supersededBy, committedAt)
    }
}
