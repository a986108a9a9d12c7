import Feed
import Testing

@testable import QuakeServer

@Suite("Lanes of sessions")
struct LaneTests {
    /// Takes as many sessions as `lane` may have, and returns their number.
    private func fill(_ use: inout LaneUse, with lane: Lane, of open: Int) -> Int {
        var count = 0
        while count < 100, use.admits(lane, of: open) {
            use.begin(lane)
            count += 1
        }
        return count
    }

    @Test(
        "Long and costly queries leave a session for short ones, and one for the server itself",
        arguments: 3...20)
    func leavesRoom(open: Int) {
        var use = LaneUse()
        let costly = fill(&use, with: .costly, of: open)
        let long = fill(&use, with: .long, of: open)
        let short = fill(&use, with: .short, of: open)

        #expect(costly >= 1)
        #expect(short >= 1)
        #expect(costly + long + short == open - 1)
        // If there are more than three sessions, costly queries also leave a session for long queries.
        #expect(open == 3 || long >= 1)
        #expect(use.admits(.own, of: open))
    }

    @Test("A lane that has just begun a query comes after the other lanes, so every lane gets its turns")
    func goesOn() {
        var use = LaneUse()
        use.begin(.short)
        #expect(use.order == [.own, .costly, .long, .short])
        use.begin(.costly)
        #expect(use.order == [.own, .long, .short, .costly])
        use.begin(.long)
        #expect(use.order == [.own, .short, .costly, .long])
    }

    @Test(
        "A query's lane follows from its parameters",
        arguments: [
            ("limit=20", Lane.short), ("eventid=us1", .short), ("", .long), ("limit=20000", .long),
            ("limit=20&asof=1", .costly), ("limit=20&offset=5000", .costly),
            ("orderby=magnitude&limit=20", .costly),
            ("format=csv&includedeleted=true", .costly),
        ])
    func lane(query: String, lane: Lane) throws {
        #expect(try EventRequest(.query, query, maximum: 20_000).lane == lane)
    }

    @Test(
        "A feed of thousands of events belongs to the long lane",
        arguments: [
            ("all_hour", Lane.short), ("all_day", .short), ("all_week", .long), ("4.5_week", .short),
            ("2.5_month", .long),
            ("significant_month", .short),
        ])
    func feed(name: String, lane: Lane) throws {
        let feed = try #require(SummaryFeed(name))
        #expect(feed.answer(baseURL: "").lane == lane)
    }
}
