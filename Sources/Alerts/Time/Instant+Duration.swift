import Feed

extension Instant {
    public static func - (left: Instant, right: Instant) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }

    public static func + (instant: Instant, duration: Duration) -> Instant {
        let (seconds, attoseconds) = duration.components
        return instant + (seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    public static func - (instant: Instant, duration: Duration) -> Instant {
        instant + (.zero - duration)
    }
}

/// Instants are coded as text, such as `2014-04-15T12:22:47.000Z`.
extension Instant: Codable {
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let instant = Instant(text) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "not a moment in UTC"))
        }
        self = instant
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
