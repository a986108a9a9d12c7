import Feed

/// A person's decision about events. It takes precedence over every rule.
public enum Override: Sendable, Hashable {
    /// The two events are the same earthquake.
    case same(ExactText, ExactText)
    /// The two events are different earthquakes. This takes precedence over a `same` that contradicts it.
    case different(ExactText, ExactText)
    /// The solution with this code is the one to show for its earthquake.
    case preferred(ExactText)

    /// The codes that the override names.
    public var codes: [ExactText] {
        switch self {
        case .same(let a, let b), .different(let a, let b): [a, b]
        case .preferred(let code): [code]
        }
    }
}

/// Overrides by the codes that they name.
struct OverrideTable: Sendable {
    private(set) var same: [ExactText: [ExactText]] = [:]
    private(set) var different: [ExactText: Set<ExactText>] = [:]
    private(set) var preferred: Set<ExactText> = []
    let codes: Set<ExactText>

    init(_ overrides: [Override]) {
        for override in Set(overrides) {
            switch override {
            case .same(let a, let b) where a != b:
                same[a, default: []].append(b)
                same[b, default: []].append(a)
            case .different(let a, let b) where a != b:
                different[a, default: []].insert(b)
                different[b, default: []].insert(a)
            case .same, .different: break
            case .preferred(let code): preferred.insert(code)
            }
        }
        codes = Set(overrides.flatMap(\.codes))
    }
}
