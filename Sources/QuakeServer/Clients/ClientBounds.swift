import Synchronization

/// What each client address holds at once, and may hold.
///
/// The machine itself and trusted proxies may hold anything: they speak for others.
final class ClientBounds: Sendable {
    enum Kind: String, CaseIterable {
        case connection, stream, costly
    }

    private struct Key: Hashable {
        let kind: Kind
        let address: ClientAddress
    }

    private let settings: ServerSettings
    private let state = Mutex<(held: [Key: Int], refused: [Kind: Int])>(([:], [:]))

    init(_ settings: ServerSettings) { self.settings = settings }

    /// How often somebody was refused.
    var refused: [Kind: Int] { state.withLock { $0.refused } }

    private func limit(_ kind: Kind) -> Int {
        switch kind {
        case .connection, .stream: settings.perAddress
        case .costly: settings.costlyPerAddress
        }
    }

    /// The address holds one more, until `give`.
    ///
    /// - Parameter address: nil for those who are not told apart.
    /// - Throws: `Refusal` 429 if it holds as many as it may.
    func take(_ kind: Kind, for address: ClientAddress?) throws {
        guard let address else { return }
        try state.withLock { state in
            let key = Key(kind: kind, address: address)
            guard state.held[key, default: 0] < limit(kind) else {
                state.refused[kind, default: 0] += 1
                throw Self.refusal(kind)
            }
            state.held[key, default: 0] += 1
        }
    }

    func give(_ kind: Kind, for address: ClientAddress?) {
        guard let address else { return }
        state.withLock { state in
            let key = Key(kind: kind, address: address)
            state.held[key, default: 1] -= 1
            if state.held[key] == 0 { state.held[key] = nil }
        }
    }

    private static func refusal(_ kind: Kind) -> Refusal {
        let what =
            switch kind {
            case .connection: "connections are open"
            case .stream: "streams are open"
            case .costly: "costly questions are under way"
            }
        return Refusal(429, "Too many \(what) from this address.")
    }
}
