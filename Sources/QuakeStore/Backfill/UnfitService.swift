import Feed

/// A server that answers, but not as an event service does.
public struct UnfitService: Error, Equatable, CustomStringConvertible {
    /// Its URL, without user and password.
    public let service: String
    public let reason: String
    let asFor: Purpose

    public enum Purpose: Sendable {
        case backfill, sweep, verification
    }

    init(_ service: EventService, _ reason: String, asFor purpose: Purpose) {
        (self.service, self.reason, asFor) = ("\(service.source)", reason, purpose)
    }

    public var description: String {
        let verb =
            switch asFor {
            case .backfill: "backfill from"
            case .verification: "verify by"
            case .sweep: "sweep"
            }
        return
            "cannot \(verb) \(service): \(reason); it has to answer query in the USGS's GeoJSON or in the FDSN's text"
    }
}
