import Feed

/// A server that answers, but not as an event service does.
public struct UnfitService: Error, Equatable, CustomStringConvertible {
    /// The service's URL, without user and password.
    public let service: String
    public let reason: String
    let asFor: Purpose

    public enum Purpose: String, Sendable {
        case backfill = "backfill from"
        case sweep
        case verification = "verify against"
    }

    init(_ service: EventService, _ reason: String, asFor purpose: Purpose) {
        (self.service, self.reason, asFor) = ("\(service.source)", reason, purpose)
    }

    public var description: String {
        "cannot \(asFor.rawValue) \(service): \(reason); the service must answer requests for events (query) in the USGS's GeoJSON or in the FDSN's text format, and must respect starttime and endtime"
    }
}
