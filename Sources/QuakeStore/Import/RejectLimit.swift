/// How many features may be rejected before a document counts as bad.
public enum RejectLimit: Sendable, Equatable {
    /// The greater of 10 and 1 % of the document's features.
    case standard
    case count(Int)
    case percent(Double)

    /// Whether a document is within the limit. A document is never within the limit if all of its features were rejected.
    public func allows(rejected: Int, of seen: Int) -> Bool {
        if rejected == 0 { return true }
        if rejected == seen { return false }
        return switch self {
        case .standard: rejected <= max(10, seen / 100)
        case .count(let limit): rejected <= limit
        case .percent(let limit): Double(rejected) <= limit / 100 * Double(seen)
        }
    }
}
