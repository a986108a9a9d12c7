import Synchronization

/// Counts and limits how many connections, streams and costly requests each client address has at once.
///
/// This machine, and a trusted proxy that names no client, have no limits, because they act for other clients.
final class ClientBounds: Sendable {
    enum Kind: String, CaseIterable {
        case connection, stream, costly
    }

    private let settings: ServerSettings
    private let state = Mutex<(held: [Kind: [ClientAddress: Int]], refused: [Kind: Int])>(([:], [:]))

    init(_ settings: ServerSettings) { self.settings = settings }

    var refused: [Kind: Int] { state.withLock { $0.refused } }

    private func limit(_ kind: Kind) -> Int {
        switch kind {
        case .connection, .stream: settings.perAddress
        case .costly: settings.costlyPerAddress
        }
    }

    /// - Parameter address: nil for clients without limits.
    /// - Throws: `Refusal` 429 if the address has reached its limit.
    func take(_ kind: Kind, for address: ClientAddress?) throws(Refusal) {
        guard let address else { return }
        let hasTaken = state.withLock { state -> Bool in
            guard state.held[kind]?[address] ?? 0 < limit(kind) else {
                state.refused[kind, default: 0] += 1
                return false
            }
            state.held[kind, default: [:]][address, default: 0] += 1
            return true
        }
        guard hasTaken else { throw Self.refusal(kind) }
    }

    func give(_ kind: Kind, for address: ClientAddress?) {
        guard let address else { return }
        state.withLock { state in
            state.held[kind]?[address, default: 1] -= 1
            if state.held[kind]?[address] == 0 { state.held[kind]?[address] = nil }
        }
    }

    private static func refusal(_ kind: Kind) -> Refusal {
        let what =
            switch kind {
            case .connection: "connections are open"
            case .stream: "streams are open"
            case .costly: "costly requests are under way"
            }
        return Refusal(429, "Too many \(what) from this address.")
    }
}
