/// Why an attempt failed. The reason contains no path of a URL, no secret and no token. It contains nothing of the receiver's
/// response except the status.
public struct DeliveryFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `hooks.example.org: HTTP status 503`.
    public let reason: String
    /// How long the receiver asks the sender to wait. A courier limits it to a day.
    public var retryAfter: Duration?
    /// Whether further attempts of this message are useless.
    public var isFinal = false
    /// Whether the receiver accepts no further messages (HTTP status 410). Send this receiver nothing more until a person has
    /// checked it.
    public var isGone = false

    public init(_ reason: String, retryAfter: Duration? = nil, isFinal: Bool = false, isGone: Bool = false) {
        (self.reason, self.retryAfter, self.isFinal, self.isGone) = (reason, retryAfter, isFinal, isGone)
    }

    public var description: String { reason }
}
