import Feed
import TestSupport

/// A document of the USGS's day feed.
struct DayFeed {
    /// The time at which the documents of the tests are generated; the database's clock is later.
    static let morning = 1_700_000_000_000

    var generated = DayFeed.morning
    /// The features, as JSON.
    var features: [String] = []

    static let url = "https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/all_day.geojson"

    mutating func add(
        _ code: String, minutesAgo: Int = 60, magnitude: String = "1.5", updated: Int = 0,
        formerly: String? = nil, more: String = ""
    ) {
        let time = Self.morning - minutesAgo * 60_000
        features.append(
            """
            {"type":"Feature","properties":{"mag":\(magnitude),"place":"5 km N of \\"Ünder\\\\Wood\\"","time":\(time),\
            "updated":\(time + 1000 + updated),"url":"https://earthquake.usgs.gov/earthquakes/eventpage/us\(code)",\
            "net":"us","code":"\(code)","ids":",\(formerly.map { "us\($0)," } ?? "")us\(code),","sources":",us,","types":",origin,","tsunami":0\
            \(more.isEmpty ? "" : ",\(more)")},\
            "geometry":{"type":"Point","coordinates":[-153.6282,57.3254,28.9]},"id":"us\(code)"}
            """)
    }

    var document: String {
        """
        {"type":"FeatureCollection","metadata":{"generated":\(generated),"url":"\(Self.url)","status":200},\
        "features":[\(features.joined(separator: ","))]}
        """
    }

    /// A feed with this number of events.
    static func of(_ count: Int) -> DayFeed {
        var feed = DayFeed()
        for number in 0..<count {
            feed.add("c\(number)", minutesAgo: number % 1000 + 1, magnitude: "\(number % 70)e-1")
        }
        return feed
    }
}

let dayPath = "/earthquakes/feed/v1.0/summary/all_day.geojson"
