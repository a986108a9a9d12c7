/// The rows that are one earthquake.
public struct Earthquake: Sendable, Equatable {
    /// The code of the member that was here first.
    public var code: String
    /// The member to show.
    public var preferred: String
    /// The member whose magnitude to show: not always the preferred one. nil if no member has a magnitude.
    public var magnitudeFrom: String?
    /// How many agencies report it.
    public var agencies: Int
    /// By code.
    public var members: [Member]

    public init(
        code: String, preferred: String, magnitudeFrom: String?, agencies: Int, members: [Member]
    ) {
        (self.code, self.preferred, self.magnitudeFrom) = (code, preferred, magnitudeFrom)
        (self.agencies, self.members) = (agencies, members)
    }
}

/// A row of an earthquake, and why it belongs to it.
public struct Member: Sendable, Equatable {
    public var code: String
    /// The member that it is closest to: by the strongest rule, then by the lowest cost. nil if it is alone.
    public var partner: String?
    /// How it differs from its partner.
    public var difference: Difference?
    public var rule: Rule?
    /// Whether another earthquake is nearly as close: the cheapest pair outside costs less than 1.5 times as much.
    public var isDoubtful = false

    public init(
        code: String, partner: String? = nil, difference: Difference? = nil, rule: Rule? = nil,
        isDoubtful: Bool = false
    ) {
        (self.code, self.partner, self.difference) = (code, partner, difference)
        (self.rule, self.isDoubtful) = (rule, isDoubtful)
    }
}

/// Why two rows are one earthquake, the strongest rule first.
public enum Rule: String, Sendable, Comparable, CaseIterable {
    /// A person said so.
    case same
    /// ComCat lists the id of one among the `ids` of the other.
    case ids
    /// One repeats the other's solution to the printed digits and names its agency (EMSC's `auth`).
    case copy
    /// Time, place and magnitude agree.
    case pair

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .same: 0
        case .ids: 1
        case .copy: 2
        case .pair: 3
        }
    }
}

/// How a row differs from another one: positive if it is later, deeper or larger.
public struct Difference: Sendable, Equatable {
    public var seconds: Double
    public var kilometres: Double
    public var magnitudes: Double?
    /// The sum of squares, each in units of its variance, after depth has been traded for time.
    public var cost: Double

    public init(seconds: Double, kilometres: Double, magnitudes: Double?, cost: Double) {
        (self.seconds, self.kilometres) = (seconds, kilometres)
        (self.magnitudes, self.cost) = (magnitudes, cost)
    }
}

/// Something that a person should look at.
public enum Finding: Sendable, Hashable {
    /// The word that two rows are one earthquake contradicts the word that two are different, and was not followed.
    case contradiction(same: [String], different: [String])
    /// A person joined rows that no rule would have joined.
    case farApart([String], kilometres: Double, seconds: Double)
    /// An override names an event that does not exist.
    case missing(String)
    /// Several members of the earthquake with this code were named as the preferred one.
    case severalPreferred(earthquake: String, codes: [String])
}

/// What association found.
public struct Grouping: Sendable, Equatable {
    /// By code.
    public var earthquakes: [Earthquake] = []
    public var findings: Set<Finding> = []

    public init() {}
}
