import Testing

@testable import Feed

@Suite struct SourceTests {
    @Test func everySummaryFeedHasAShortName() {
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
        ("https://user:secret@host:8080?format=a", "https://host:8080?format=a"),
        ("https://us:se@cret@host/a", "https://host/a"),
        ("https://host/@user", "https://host/@user"), ("https://host:80/a@b", "https://host:80/a@b"),
        ("https://[::1]/a@b", "https://[::1]/a@b"), ("https://user:se/cret@host/a", "https://host/a"),
        ("https://user:se#cr?et@host/a", "https://host/a"),
        // The mark combines with the character before it.
        ("https://\u{301}user:secret@host/a", "https://host/a"),
        ("https://user:secret@\u{301}host/a", "https://\u{301}host/a"),
    ])
    func aURLIsNamedWithoutItsCredentials(url: String, name: String) {
        #expect("\(FeedSource(url))" == name)
    }

    @Test(arguments: [
        ("https://host/a?foobar", "https://host/a?…"), ("https://host/a?foobar#secret", "https://host/a?…"),
        ("https://user:secret@host/a?limit=5&foobar&format=csv", "https://host/a?limit=5&format=csv&…"),
        ("https://host/a?…#secret", "https://host/a?…"),
        ("https://host/a?", "https://host/a?"), ("https://host/a#secret", "https://host/a"),
        (
            "https://host/query?format=geojson&starttime=2020-01-01T00:00:00&minlatitude=-1.5&eventid=a,b",
            "https://host/query?format=geojson&starttime=2020-01-01T00:00:00&minlatitude=-1.5&eventid=a,b"
        ),
    ])
    func aURLIsNamedWithoutTheSecretsOfItsQuery(url: String, name: String) {
        #expect("\(FeedSource(url))" == name)
        #expect("\(FeedSource(name))" == name)
    }

    @Test(arguments: [
        "apikey=SECRET", "SECRET", "SECRET=", "=SECRET", "format=x;key=SECRET", "format=x?key=SECRET",
        "FORMAT=SECRET",
        "format=x&&key=SECRET", "…&SECRET#00000000", "…#SECRET", "format=x#SECRET", "apikey=1&apikey=SECRET",
        "…#00000000", "\u{301}apikey=SECRET", "format=x&\u{301}key=SECRET", "format=x#\u{301}SECRET",
    ])
    func aNameContainsNoSecret(query: String) {
        let name = "\(FeedSource("https://user:SECRET@host/a?\(query)"))"
        #expect(!name.contains("SECRET"))
        #expect("\(FeedSource(name))" == name)
    }

    @Test func aNameIsNotAcceptedAsAURL() async {
        let name = "\(FeedSource("https://host/a?apikey=b"))"
        await #expect {
            try await FeedSource(name).read { _ in }
        } throws: {
            "\($0)"
                == "cannot fetch https://host/a?…: this is a source's name, without the secret parts of its URL; give the whole URL"
        }
    }

    @Test func credentialsAreTakenFromTheURL() throws {
        let (user, password) = try #require("https://us%40er:p%3Aw:%zé@host/".userInfo)
        #expect(user == "us@er")
        #expect(password == "p:w:%zé")
        #expect("https://host/@x".userInfo == nil)
    }
}
