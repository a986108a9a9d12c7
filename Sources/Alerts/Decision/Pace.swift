import Feed

/// Limits the message rate of one receiver. A swarm begins after 5 messages within 10 minutes. From then on, the receiver gets a
/// digest every 5 minutes, until 5 minutes have passed without news. During the swarm, an earthquake is reported at once if its
/// magnitude is at least 1 above all magnitudes that were reported in the swarm.
public struct Pace: Sendable, Equatable, Codable {
    /// The last messages: when each was sent, and the largest magnitude in it.
    private(set) var recent: [Sent] = []
    /// When the next digest is due; nil while there is no swarm.
    public private(set) var digestDue: Instant?
    /// The largest magnitude that was reported in the swarm.
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

    /// When a message may be sent; nil if it may be sent at once. If the time is in the past, a digest is due, and it will
    /// include this message.
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

    /// Records that a message was sent.
    mutating func sent(magnitude: Double?, isDigest: Bool, at now: Instant) {
        settle(at: now)
        recent.append(Sent(at: now, magnitude: magnitude))
        recent = recent.suffix(Self.limit)
        if let magnitude, digestDue != nil { largest = max(largest ?? magnitude, magnitude) }
        if let due = digestDue, now >= due {
            // If the message has only one earthquake, nothing else happened for 5 minutes, so the swarm is over.
            (digestDue, largest) = isDigest ? (now + Self.interval, largest) : (nil, nil)
        }
    }

    /// Removes messages that are older than the window, and a swarm that is over. Times in the future are removed, too: they were
    /// recorded while the clock was ahead, and the clock has been set back since.
    mutating func settle(at now: Instant) {
        recent.removeAll { $0.at > now || now - $0.at >= Self.window }
        if let due = digestDue, now >= due + Self.interval || due - now > Self.interval {
            (digestDue, largest) = (nil, nil)
        }
    }
}
