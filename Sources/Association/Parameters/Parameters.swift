/// The numbers behind association. Change one, and the groups have to be rebuilt.
public struct Parameters: Sendable, Equatable {
    /// Written beside the groups, so that a change is noticed.
    public var version: String
    /// Origins of one earthquake are at most so many seconds apart, after depth has been traded for time.
    public var seconds = 20.0
    public var kilometres = 120.0
    public var magnitudes = 1.2
    /// The highest cost of a pair: six standard deviations.
    public var cost = 36.0
    /// Two solutions that are so many times farther apart than a pair may be are never in one group.
    public var impossible = 2.0
    /// A pair is doubtful if the runner-up costs less than so many times as much.
    public var doubtful = 1.5
    /// A solution that is so many kilometres deeper may be a second later, in km/s: agencies' own solutions show 5 to 8.
    public var depthSpeed = 8.0
    /// Depth explains at most so many seconds.
    public var depthSeconds = 20.0
    /// Depths that agencies set when they can't find them, in km. A pair of such depths has no depth to trade.
    public var fixedDepths = [0.0, 5, 10, 33, 35]
    /// Which agency's solution is preferred, by network or agency, if nothing else decides.
    public var ranks: [String: Int] = [:]
    /// The network that EMSC's `auth` names, by that name in lower case, where the two differ.
    public var authors: [String: String] = [:]
    /// The agencies' scatter.
    public var scatter = ScatterTable()

    public init(version: String) {
        self.version = version
    }

    /// How far apart the times of two rows can be that are linked by anything but a person's word, in milliseconds: the five
    /// minutes within which ComCat's `ids` count (design, section 4), which is more than any pair may be apart.
    public static let reach: Int64 = 300_000

    /// How far apart the times of a pair can be, in milliseconds.
    var pairReach: Int64 { min(Int64(((seconds + depthSeconds) * 1000).rounded(.up)) + 1, Self.reach) }

    /// The network of an `auth`.
    func network(ofAuthor author: String) -> String {
        let name = author.lowercased()
        return authors[name] ?? name
    }
}

/// How far an agency's solutions are from the truth, as standard deviations.
public struct Scatter: Sendable, Equatable {
    public var seconds: Double
    /// The root mean square of the distance.
    public var kilometres: Double
    public var magnitudes: Double

    public init(seconds: Double, kilometres: Double, magnitudes: Double) {
        (self.seconds, self.kilometres, self.magnitudes) = (seconds, kilometres, magnitudes)
    }

    /// Below these, the squares of a cost would blow up over rounded digits.
    static let least = Scatter(seconds: 0.1, kilometres: 1, magnitudes: 0.05)
}

/// The scatter of agencies by the size of their events.
public struct ScatterTable: Sendable, Equatable {
    /// The scatter of the events from a magnitude on.
    public struct Row: Sendable, Equatable {
        /// −∞ for the smallest.
        public var magnitude: Double
        public var scatter: Scatter
        /// How many pairs it was fitted on; 0 if it was not.
        public var pairs: Int

        public init(magnitude: Double, scatter: Scatter, pairs: Int) {
            (self.magnitude, self.scatter, self.pairs) = (magnitude, scatter, pairs)
        }
    }

    /// By network or agency, each by magnitude. `*` is any other.
    public var rows: [String: [Row]] = [:]

    public init() {}

    /// The scatter of a row's agency for events of its magnitude: that of the author whose solution it repeats, of its network, of
    /// its agency, or of any. Events without a magnitude count as the smallest.
    func scatter(of solution: Solution, author: String?) -> Scatter {
        let rows =
            author.flatMap { self.rows[$0] } ?? self.rows[solution.network] ?? self.rows[solution.agency]
            ?? self.rows["*"] ?? []
        let magnitude = solution.magnitude ?? -.infinity
        let row = rows.last { $0.magnitude <= magnitude } ?? rows.first
        return row?.scatter ?? Scatter(seconds: 2, kilometres: 15, magnitudes: 0.3)
    }

    /// Every standard deviation times a factor.
    public func scaled(by factor: Double) -> ScatterTable {
        var table = self
        for (name, rows) in rows {
            table.rows[name] = rows.map { row in
                let scatter = Scatter(
                    seconds: row.scatter.seconds * factor, kilometres: row.scatter.kilometres * factor,
                    magnitudes: row.scatter.magnitudes * factor)
                return Row(magnitude: row.magnitude, scatter: scatter, pairs: row.pairs)
            }
        }
        return table
    }
}
