import Feed

/// One agency's solution of an earthquake: the columns of a row that association needs.
public struct Solution: Sendable, Equatable {
    /// The row's key, such as `us7000abcd` or `gfz:gfz2026texh`.
    public var code: ExactText
    /// The catalogue that the row belongs to, as `report.agency(net)` returns it: `usgs` for all networks of ComCat. A catalogue
    /// distinguishes its own events, so only a hard link puts two of its rows into one group.
    public var agency: String
    /// The row's `net`, which determines the scatter, the region and the rank.
    public var network: String
    /// The agency whose solution the row copies, as the row names it (EMSC's `auth`).
    public var author: String?
    /// When the row was first imported (`imported_at`), in milliseconds since 1970.
    public var firstSeen: Int64
    /// When the solution was last revised, in milliseconds since 1970.
    public var updated: Int64
    /// The origin time, in milliseconds since 1970.
    public var time: Int64
    /// Degrees.
    public var latitude: Double
    /// Degrees, −180 to 180 or 0 to 360.
    public var longitude: Double
    /// Kilometres.
    public var depth: Double?
    public var magnitude: Double?
    public var magnitudeType: String?
    public var review = Review.unknown
    /// The number of stations used (`nst`).
    public var stations: Int?
    /// The azimuthal gap, in degrees.
    public var gap: Double?
    /// All ids that the event has had in its catalogue (ComCat's `ids`).
    public var ids: [ExactText] = []
    /// Published uncertainties, as standard deviations.
    public var uncertainty = Uncertainty()

    /// Standard deviations of the time, the place (as the root mean square of the distance, in km) and the magnitude; nil if they
    /// are not published.
    public struct Uncertainty: Sendable, Equatable {
        public var seconds: Double?
        public var kilometres: Double?
        public var magnitudes: Double?

        public init(seconds: Double? = nil, kilometres: Double? = nil, magnitudes: Double? = nil) {
            (self.seconds, self.kilometres, self.magnitudes) = (seconds, kilometres, magnitudes)
        }
    }

    /// Whether a person has reviewed the solution.
    public enum Review: Int, Sendable, Comparable {
        case reviewed
        case unknown
        case automatic

        /// - Parameter status: the row's `status`.
        public init(status: String?) {
            self =
                ReviewStatus.isReviewed(status)
                ? .reviewed
                : ["automatic", "preliminary"].contains(status?.lowercased()) ? .automatic : .unknown
        }

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    public init(
        code: ExactText, agency: String, network: String? = nil, firstSeen: Int64 = 0, updated: Int64 = 0,
        time: Int64,
        latitude: Double, longitude: Double, depth: Double? = nil, magnitude: Double? = nil
    ) {
        (self.code, self.agency, self.network) = (code, agency, network ?? agency)
        (self.firstSeen, self.updated, self.time) = (firstSeen, updated, time)
        (self.latitude, self.longitude, self.depth, self.magnitude) = (latitude, longitude, depth, magnitude)
    }
}
