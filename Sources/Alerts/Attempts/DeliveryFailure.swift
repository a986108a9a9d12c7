/// Why an attempt failed. The reason never holds a URL's path, a secret or a token, nor what a receiver answered beyond its
/// status.
public struct DeliveryFailure: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `hooks.example.org: HTTP status 503`.
    public let reason: String
    /// How long the receiver asks to wait.
    public var retryAfter: Duration?
    /// Whether another attempt of this message would be in vain.
    public var isFinal = false
    /// Whether the receiver wants nothing any more (HTTP status 410). Nothing is to be sent to it until a person has looked.
    public var isGone = false

    public init(_ reason: String, retryAfter: Duration? = nil, isFinal: Bool = false, isGone: Bool = false) {
        (self.reason, self.retryAfter, self.isFinal, self.isGone) = (reason, retryAfter, isFinal, isGone)
    }

    public var description: String { reason }
}
