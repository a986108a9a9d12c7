import Feed

/// A group of rows that describe the same earthquake.
public struct Earthquake: Sendable, Equatable {
    /// The code of the member that was imported first.
    public var code: ExactText
    /// The member to show.
    public var preferred: ExactText
    /// The member whose magnitude to show, which may differ from `preferred`; nil if no member has a magnitude.
    public var magnitudeFrom: ExactText?
    /// The number of agencies that report the earthquake.
    public var agencies: Int
    /// Ordered by code.
    public var members: [Member]

    public init(
        code: ExactText, preferred: ExactText, magnitudeFrom: ExactText?, agencies: Int, members: [Member]
    ) {
        (self.code, self.preferred, self.magnitudeFrom) = (code, preferred, magnitudeFrom)
        (self.agencies, self.members) = (agencies, members)
    }
}

/// A row of an earthquake, and the reason why the row belongs to the earthquake.
public struct Member: Sendable, Equatable {
    public var code: ExactText
    /// The member with the strongest link to this one. Among links with the same rule, the cheapest pair or the lowest code
    /// decides. nil if the earthquake has no other member.
    public var partner: ExactText?
    /// How the row differs from its partner.
    public var difference: Difference?
    public var rule: Rule?
    /// Whether the row would fit another earthquake nearly as well: its cheapest pair with a row of another earthquake costs less
    /// than `Parameters.doubtful` times the pair with its partner.
    public var isDoubtful = false

    public init(
        code: ExactText, partner: ExactText? = nil, difference: Difference? = nil, rule: Rule? = nil,
        isDoubtful: Bool = false
    ) {
        (self.code, self.partner, self.difference) = (code, partner, difference)
        (self.rule, self.isDoubtful) = (rule, isDoubtful)
    }
}

/// Why two rows belong to the same earthquake, the strongest rule first.
public enum Rule: String, Sendable, Comparable, CaseIterable {
    /// A person's override says that the rows are the same earthquake.
    case same
    /// ComCat lists one row's id in the `ids` of the other.
    case ids
    /// One row copies the other's solution, digit by digit, and names its agency (EMSC's `auth`).
    case copy
    /// Time, place and magnitude agree.
    case pair

    public static func < (left: Self, right: Self) -> Bool {
        allCases.prefix { $0 != right }.contains(left)
    }
}

/// How a row differs from another one. Seconds and magnitudes are positive if the row is later or larger; kilometres are the
/// distance.
public struct Difference: Sendable, Equatable {
    public var seconds: Double
    public var kilometres: Double
    public var magnitudes: Double?
    /// The sum of the squared differences, each divided by its variance, after the correction of the time for depth.
    public var cost: Double

    public init(seconds: Double, kilometres: Double, magnitudes: Double?, cost: Double) {
        (self.seconds, self.kilometres) = (seconds, kilometres)
        (self.magnitudes, self.cost) = (magnitudes, cost)
    }
}

/// A problem that a person should check.
public enum Finding: Sendable, Hashable {
    /// The override that joins the rows `same` was ignored, because another override keeps the rows `different` apart.
    case contradiction(same: [ExactText], different: [ExactText])
    /// An override joined rows that are too far apart for any other rule.
    case farApart([ExactText], kilometres: Double, seconds: Double)
    /// An override names an event that does not exist.
    case missing(ExactText)
    /// Overrides name several members of the earthquake with this code as the preferred one.
    case severalPreferred(earthquake: ExactText, codes: [ExactText])
}

/// The result of association.
public struct Grouping: Sendable, Equatable {
    /// Ordered by code.
    public var earthquakes: [Earthquake] = []
    public var findings: Set<Finding> = []

    public init() {}
}
