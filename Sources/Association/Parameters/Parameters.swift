/// The numbers that association uses. If one of them is changed, the groups must be rebuilt.
public struct Parameters: Sendable, Equatable {
    /// The version that the parameters file states. `import.association` stores a hash of the whole file with which the groups
    /// were made, so any change of the file is detected.
    public var version: String
    /// The largest time between two origins of a pair, in seconds, after the correction for depth.
    public var seconds = 20.0
    public var kilometres = 120.0
    public var magnitudes = 1.2
    /// The highest cost of a pair. 36 is the square of six standard deviations.
    public var cost = 36.0
    /// If two solutions exceed a limit of a pair by more than this factor, only hard links can bring them into one group.
    public var impossible = 2.0
    /// A member is doubtful if its cheapest pair with another earthquake costs less than this factor times the pair with its
    /// partner.
    public var doubtful = 1.5
    /// The difference in depth that shifts the origin time by one second, in km/s. Between agencies' solutions, it is 5 to 8.
    public var depthSpeed = 8.0
    /// The longest time that a difference in depth explains, in seconds.
    public var depthSeconds = 20.0
    /// Depths that agencies assume when they cannot determine the depth, in km. If both depths of a pair are among them, there is
    /// no correction for depth.
    public var fixedDepths = [0.0, 5, 10, 33, 35]
    /// The rank of each network or agency. The solution with the lower rank is preferred, if nothing more important decides.
    public var ranks: [String: Int] = [:]
    /// The networks of the authors in EMSC's `auth`, by the author's name in lower case. Authors with the same name as their
    /// network are not listed.
    public var authors: [String: String] = [:]
    /// The scatter of the agencies' solutions.
    public var scatter = ScatterTable()

    public init(version: String) {
        self.version = version
    }

    /// The largest time between two linked rows, in milliseconds: five minutes. Only a person's override links rows that are
    /// farther apart.
    public static let reach: Int64 = 300_000

    /// The largest time between the rows of a pair, in milliseconds.
    var pairReach: Int64 { min(Int64(((seconds + depthSeconds) * 1000).rounded(.up)) + 1, Self.reach) }

    /// The network of an author in EMSC's `auth`.
    func network(ofAuthor author: String) -> String {
        let name = author.lowercased()
        return authors[name] ?? name
    }
}

/// The errors of an agency's solutions, as standard deviations.
public struct Scatter: Sendable, Equatable {
    public var seconds: Double
    /// The root mean square of the distance.
    public var kilometres: Double
    public var magnitudes: Double

    public init(seconds: Double, kilometres: Double, magnitudes: Double) {
        (self.seconds, self.kilometres, self.magnitudes) = (seconds, kilometres, magnitudes)
    }

    /// The smallest values that are used. With smaller values, differences from rounding would make the cost very high.
    static let least = Scatter(seconds: 0.1, kilometres: 1, magnitudes: 0.05)
}

/// The scatter of agencies by the magnitude of their events.
public struct ScatterTable: Sendable, Equatable {
    /// The scatter of events from a magnitude up to the next row's magnitude.
    public struct Row: Sendable, Equatable {
        /// The magnitude from which the row applies; −∞ in the row for the smallest events.
        public var magnitude: Double
        public var scatter: Scatter
        /// The number of pairs that the scatter was fitted to; 0 if it was not fitted.
        public var pairs: Int

        public init(magnitude: Double, scatter: Scatter, pairs: Int) {
            (self.magnitude, self.scatter, self.pairs) = (magnitude, scatter, pairs)
        }
    }

    /// The rows of each network or agency, in ascending order of magnitude. `*` stands for all others.
    public var rows: [String: [Row]] = [:]

    public init() {}

    /// The scatter for a solution, by its magnitude. It is looked up under the author, or else under the network, the agency, or
    /// `*`. Events without a magnitude count as the smallest.
    func scatter(of solution: Solution, author: String?) -> Scatter {
        let rows =
            author.flatMap { self.rows[$0] } ?? self.rows[solution.network] ?? self.rows[solution.agency]
            ?? self.rows["*"] ?? []
        let magnitude = solution.magnitude ?? -.infinity
        let row = rows.last { $0.magnitude <= magnitude } ?? rows.first
        return row?.scatter ?? Scatter(seconds: 2, kilometres: 15, magnitudes: 0.3)
    }
}
