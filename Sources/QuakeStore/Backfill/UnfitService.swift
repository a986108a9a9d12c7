import Feed

/// A server that answers, but not as a backfill needs it.
///
/// The standard asks an event service only for QuakeML. A backfill needs what the USGS's adds: `query` in GeoJSON, and
/// `count` (https://earthquake.usgs.gov/fdsnws/event/1/).
public struct UnfitService: Error, Equatable, CustomStringConvertible {
    /// Its URL, without user and password.
    public let service: String
    public let reason: String
    var asFor = Purpose.backfill

    public enum Purpose: Sendable {
        case backfill, sweep, verification
    }

    public var description: String {
        switch asFor {
        case .backfill:
            "cannot backfill from \(service): \(reason); it has to answer query with format=geojson, and count, as the USGS's event service does"
        case .verification:
            "cannot verify by \(service): \(reason); it has to answer query with format=geojson, and count, as the USGS's event service does"
        case .sweep:
            "cannot sweep \(service): \(reason); it has to answer query in the USGS's GeoJSON or in the FDSN's text"
        }
    }
}

extension UnfitService {
    /// - Parameter failure: what ended a request for a count.
    /// - Returns: nil if the server may answer at another time.
    init?(_ service: String, counting failure: FeedError) {
        switch failure {
        // The statuses of a server that does not know the method or its parameters. 404 is no input.
        case .noInput(_, let reason): self.init(service: service, reason: "its answer to count is \(reason)")
        case .unavailable(_, let reason, let status?, _) where [400, 405, 406, 415, 501].contains(status):
            self.init(service: service, reason: "its answer to count is \(reason)")
        default: return nil
        }
    }
}
