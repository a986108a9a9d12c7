import Feed

/// How fast one receiver is told. A swarm begins after 5 messages within 10 minutes: from then on there is a digest every 5
/// minutes, until 5 minutes have passed in which nothing came. An earthquake that is larger by a magnitude than all told in
/// the swarm is told at once.
public struct Pace: Sendable, Equatable, Codable {
    /// When the last messages went out, and their largest magnitudes.
    private(set) var recent: [Sent] = []
    /// When the next digest is due; nil while there is no swarm.
    public private(set) var digestDue: Instant?
    /// The largest magnitude told in the swarm.
    private(set) var largest: Double?

    struct Sent: Sendable, Equatable, Codable {
        let at: Instant
        let magnitude: Double?
    }

    private enum CodingKeys: String, CodingKey {
        case recent, largest
        case digestDue = "digest_due"
    }

    public static let limit = 5
    public static let window = Duration.seconds(600)
    public static let interval = Duration.seconds(300)

    /// When a message may go; nil for at once. It is in the past if a digest is due, which then takes the message along.
    mutating func hold(magnitude: Double?, at now: Instant) -> Instant? {
        settle(at: now)
        if digestDue == nil, recent.count >= Self.limit {
            digestDue = now + Self.interval
            largest = recent.compactMap(\.magnitude).max()
        }
        guard let digestDue else { return nil }
        if let magnitude, magnitude >= (largest ?? magnitude) + 1 - 1e-9 { return nil }
        return digestDue
    }

    /// Notes that a message went out.
    mutating func sent(magnitude: Double?, isDigest: Bool, at now: Instant) {
        settle(at: now)
        recent.append(Sent(at: now, magnitude: magnitude))
        recent = recent.suffix(Self.limit)
        if let magnitude, digestDue != nil { largest = max(largest ?? magnitude, magnitude) }
        if let due = digestDue, now >= due {
            // A message alone means that nothing else came for 5 minutes.
            (digestDue, largest) = isDigest ? (now + Self.interval, largest) : (nil, nil)
        }
    }

    /// Forgets what is past. What a clock that was ahead has left in the future is forgotten, too.
    private mutating func settle(at now: Instant) {
        recent.removeAll { $0.at > now || now - $0.at >= Self.window }
        if let due = digestDue, now >= due + Self.interval || due - now > Self.interval {
            (digestDue, largest) = (nil, nil)
        }
    }
}
