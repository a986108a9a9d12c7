import Feed
import TestSupport
import Testing

@Suite("Event services as sources")
struct EventServiceTests {
    @Test(
        "Every spelling of a service's URL gives the same service; a feed and a query are not services",
        arguments: [
            ("usgs", "https://earthquake.usgs.gov/fdsnws/event/1/"),
            ("https://earthquake.usgs.gov/fdsnws/event/1", "https://earthquake.usgs.gov/fdsnws/event/1/"),
            ("http://127.0.0.1:8080/base/fdsnws/event/1/", "http://127.0.0.1:8080/base/fdsnws/event/1/"),
            ("all_day", nil), ("./usgs", nil), ("-", nil),
            ("https://earthquake.usgs.gov/fdsnws/event/1/query?format=geojson", nil),
        ])
    func names(_ argument: String, _ url: String?) {
        #expect(EventService(FeedSource(argument))?.url == url)
    }

    @Test("The USGS's service is registered, and shown by its name")
    func registered() {
        let source = FeedSource("usgs")
        #expect(source.shortName == "usgs")
        #expect(EventService(source)?.isComplete == true)
        #expect(EventService(FeedSource("https://host/fdsnws/event/1/"))?.isComplete == false)
        #expect(EventService.usgs.host == "earthquake.usgs.gov")
    }

    @Test(
        "A query has an early start time, because the USGS defaults to 30 days; a query for deletions includes only deletions"
    )
    func urls() {
        var question = EventService.Question(updatedAfter: Instant("2026-11-24T05:30:00.123Z"))
        #expect(
            EventService.usgs.queryURL(of: question)
                == "https://earthquake.usgs.gov/fdsnws/event/1/query?format=geojson&starttime=1000-01-01T00:00:00.000&updatedafter=2026-11-24T05:30:00.123&orderby=time-asc&limit=20000"
        )
        question.isOfDeletions = true
        #expect(EventService.usgs.queryURL(of: question).contains("&includedeleted=only&"))
        let window = EventService.Question(since: Instant("2020-01-01")!, until: Instant("2020-01-02"))
        #expect(
            EventService.usgs.countURL(of: window).hasSuffix(
                "count?format=text&starttime=2020-01-01T00:00:00.000&endtime=2020-01-01T23:59:59.999999"))
        // The URL has no secret to hide.
        #expect(
            "\(FeedSource.url(EventService.usgs.queryURL(of: question)))"
                == EventService.usgs.queryURL(of: question))
    }

    @Test("Another Quakes server can be followed only at /changes, and without a filter")
    func changes() {
        let stream = ChangesSource(FeedSource("http://first:8080/changes"))
        #expect(stream?.host == "first")
        #expect(stream?.poll(after: nil, waiting: 0) == "http://first:8080/changes?wait=0s")
        #expect(stream?.poll(after: "8_x", waiting: 20) == "http://first:8080/changes?after=8_x&wait=20s")
        #expect(ChangesSource(FeedSource("http://first:8080/changes?minmagnitude=5")) == nil)
        #expect(ChangesSource(FeedSource("changes")) == nil)
    }

    // MARK: Counts

    @Test(
        "A count is a short response, so a long response is not read to its end",
        arguments: [(" 17\n", 17), (#"{"count": 17, "maxAllowed": 20000}"#, 17), ("many", nil), ("", nil)])
    func count(_ text: String, _ count: Int?) async throws {
        let long = Array((text + String(repeating: " ", count: 2000)).utf8)
        let script: [TestFeedServer.Answer] = [
            .whole(.ok, Array(text.utf8)), .stalled(long, promised: 1 << 30),
        ]
        try await TestFeedServer.run(script: script) { server in
            var options = FetchOptions()
            options.readTimeout = .seconds(5)
            let service = try #require(EventService(FeedSource(server.url("/fdsnws/event/1/"))))
            let short = try await service.count(of: EventService.Question(), options: options)
            #expect(short == count)
            let endless = try await service.count(of: EventService.Question(), options: options)
            #expect(endless == nil)
        }
    }

    // MARK: Deletions

    private func deletion(_ json: String) throws -> StatedDeletion {
        let bytes = Array(json.utf8)
        return try bytes.withUnsafeBufferPointer { try StatedDeletion($0) }
    }

    @Test(
        "A deletion is identified by its id, by net and code, or by its ids if there is only one",
        arguments: [
            #"{"id":"us1","properties":{"updated":5,"status":"deleted"}}"#,
            #"{"id":null,"geometry":null,"properties":{"updated":5,"net":"us","code":"1","mag":null}}"#,
            #"{"properties":{"updated":5,"ids":",us1,","status":"DELETED"},"type":"Feature"}"#,
        ])
    func named(_ json: String) throws {
        let deletion = try deletion(json)
        #expect(deletion == StatedDeletion(code: "us1", at: Instant(milliseconds: 5)))
    }

    @Test("A deletion with a URL belongs to the service in that URL")
    func service() throws {
        let deletion = try deletion(
            #"{"id":"us1","properties":{"updated":5,"url":"https://Host.example/e","status":"deleted"}}"#)
        #expect(deletion.service == "host.example")
    }

    @Test(
        "An unusable deletion is rejected with the reason",
        arguments: [
            (
                #"{"id":null,"properties":{"updated":5,"status":"deleted","ids":null}}"#,
                Rejection.Reason.unnamed
            ),
            (#"{"id":7,"properties":{"updated":5,"status":"deleted"}}"#, .unnamed),
            (#"{"id":"\u0000","properties":{"updated":5,"status":"deleted"}}"#, .unnamed),
            (#"{"properties":{"updated":5,"status":"deleted","ids":",us1,ci1,"}}"#, .unnamed),
            (#"{"id":"us1","properties":{"status":"deleted"}}"#, .missing),
            (#"{"id":"us1","properties":{"updated":"now","status":"deleted"}}"#, .missing),
            (#"{"id":"us1","properties":{"updated":5,"status":"reviewed"}}"#, .status),
            (#"{"id":"us1","properties":{"updated":5,"mag":1.5}}"#, .status),
            (#"{"id":"us1","properties":{"updated":5"#, .syntax), ("17", .syntax),
        ])
    func refused(_ json: String, _ reason: Rejection.Reason) {
        #expect {
            try deletion(json)
        } throws: { error in
            (error as? Rejection)?.reason == reason
        }
    }
}
