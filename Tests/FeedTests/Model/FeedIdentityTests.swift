import Feed
import Testing

@Suite("The feed that a document names")
struct FeedIdentityTests {
    @Test(
        "The service is the host of the feed's URL",
        arguments: [
            ("https://Earthquake.USGS.gov/feed/v1.0/summary/all_day.geojson", "earthquake.usgs.gov"),
            ("HTTP://example.org:8080/summary/all_day.geojson", "example.org"),
            ("http://[2001:DB8::1]:8080/summary/all_day.geojson", "[2001:db8::1]"),
            ("http://[::1]/summary/all_day.geojson", "[::1]"),
            ("http://user:secret@example.org/summary/all_day.geojson", "example.org"),
            ("https://jo@uni.edu:secret@seis.uni.edu/summary/all_day.geojson", "seis.uni.edu"),
            ("http://me@/summary/all_day.geojson", nil),
            ("http:///summary/all_day.geojson", nil),
            ("http://example.org/summary/all_day.csv", nil),
            ("http://example.org/summary/every_day.geojson", nil),
            ("http://example.org/?x=/summary/all_day.geojson", nil),
            ("file://example.org/summary/all_day.geojson", nil),
            ("all_day.geojson", nil),
        ])
    func service(url: String, host: String?) {
        var metadata = FeedMetadata()
        (metadata.url, metadata.generated) = (url, Instant(milliseconds: 86_400_000))
        let identity = FeedIdentity(metadata)
        #expect(identity?.service == host)
        #expect(identity?.name == host.map { _ in "all_day" })
        let day = Instant(milliseconds: 0)...Instant(milliseconds: 86_400_000)
        #expect(identity?.window == host.map { _ in day })
    }
}
