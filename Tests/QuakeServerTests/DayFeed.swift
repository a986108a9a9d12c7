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

extension TestDatabase {
    /// Imports `usc0` and `usc1`, and inserts `count` more events of the day feed, each with a place of 8 kB. An answer has 8.7
    /// kB for each event, so a long answer needs few rows.
    func importLongEvents(_ count: Int) async throws {
        // After an import, the time in the feed's answers is the document's time, so two answers are the same.
        try await importDocument(DayFeed.of(2).document)
        try await query(
            """
            insert into quake (code, net, net_code, magnitude, place, url, time, updated, longitude, latitude)
            select 'uslong' || n, 'us', 'long' || n, 1.5, repeat('x', 8192),
                   'https://earthquake.usgs.gov/earthquakes/eventpage/uslong' || n,
                   now() - n * interval '1 second', now(), 10, 20
            from generate_series(1, \(count)::integer) as n
            """)
    }
}

let dayPath = "/earthquakes/feed/v1.0/summary/all_day.geojson"
