import Testing

@testable import Feed

@Suite struct SourceTests {
    @Test func everySummaryFeedHasItsName() {
        #expect(FeedSource.summaryFeeds.count == 20)
        for magnitude in ["significant", "4.5", "2.5", "1.0", "all"] {
            for period in ["hour", "day", "week", "month"] {
                let name = "\(magnitude)_\(period)"
                #expect(FeedSource.summaryFeeds.contains(name))
                #expect(
                    FeedSource(name)
                        == .url("https://earthquake.usgs.gov/earthquakes/feed/v1.0/summary/\(name).geojson"))
            }
        }
    }

    @Test func anArgumentIsAFeedAURLStandardInputOrAPath() {
        #expect(FeedSource("-") == .standardInput)
        #expect(FeedSource("./all_day") == .file("./all_day"))
        #expect(FeedSource("all_year") == .file("all_year"))
        #expect(FeedSource("ALL_DAY") == .file("ALL_DAY"))
        #expect(FeedSource("http://host/x") == .url("http://host/x"))
        #expect(FeedSource("HTTPS://host/x") == .url("HTTPS://host/x"))
        #expect(FeedSource("ftp://host/x") == .file("ftp://host/x"))
    }

    @Test(arguments: [
        ("https://user:secret@host/a", "https://host/a"), ("https://user@host", "https://host"),
        ("https://user:secret@host:8080?x=a@b", "https://host:8080?x=a@b"),
        ("https://us:se@cret@host/a", "https://host/a"),
        ("https://host/@user", "https://host/@user"), ("https://host:80/a@b", "https://host:80/a@b"),
        ("https://[::1]/a@b", "https://[::1]/a@b"), ("https://user:se/cret@host/a", "https://host/a"),
        ("https://user:se#cr?et@host/a", "https://host/a"),
    ])
    func aURLIsNamedWithoutItsCredentials(url: String, name: String) {
        #expect("\(FeedSource(url))" == name)
    }

    @Test func credentialsAreTakenFromTheURL() throws {
        let (user, password) = try #require("https://us%40er:p%3Aw:%zé@host/".userInfo)
        #expect(user == "us@er")
        #expect(password == "p:w:%zé")
        #expect("https://host/@x".userInfo == nil)
    }
}
