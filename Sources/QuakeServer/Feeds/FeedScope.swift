import Feed
import QuakeStore

/// The agencies whose events a feed contains. The USGS's own paths serve only events of the USGS. The path of any other feed has
/// the agency's name, or `all`, in front of the feed's name: `summary/gfz/all_day.geojson`.
enum FeedScope: Sendable, Equatable {
    case agency(Agency)
    case all

    /// The USGS, with all networks that contribute to ComCat.
    static let usgs = FeedScope.agency(.usgs)

    init?(name: String) {
        if name == "all" {
            self = .all
        } else if let agency = Agency.named(name) {
            self = .agency(agency)
        } else {
            return nil
        }
    }

    var name: String {
        switch self {
        case .agency(let agency): agency.name
        case .all: "all"
        }
    }

    var owner: String {
        switch self {
        case .usgs: "USGS"
        case .agency(let agency): agency.title
        case .all: "All agencies"
        }
    }

    var selection: QuakeSelection {
        var selection = QuakeSelection()
        if case .agency(let agency) = self { selection.agency = agency }
        return selection
    }
}
