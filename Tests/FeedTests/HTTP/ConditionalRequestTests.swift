import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct ConditionalRequestTests {
    private static let feed = bytes(of: SampleFeed(count: 20))
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    /// Answers like a server with one unchanging state of the feed.
    private static func answer(_ request: TestRequest) -> TestFeedServer.Answer {
        let headers: TestHeaders = [
            "etag": #"W/"a b,c""#, "last-modified": date, "cache-control": "public, max-age=60", "age": "15",
        ]
        return request.headers["if-none-match"] == [#"W/"a b,c""#]
            ? .whole(.notModified, [], headers: headers) : .whole(.ok, feed, headers: headers)
    }

    @Test func anUnchangedFeedIsNotPassedOn() async throws {
        try await TestFeedServer.run(answering: Self.answer) { server in
            let source = FeedSource(server.url("/feed"))
            var read: [UInt8] = []
            let first = try await source.read(options: .withoutWaiting()) { read += $0 }
            let validators = Validators(etag: #"W/"a b,c""#, lastModified: Self.date)
            #expect(first == .document(validators, freshFor: .seconds(45)))
            #expect(read == Self.feed)
            #expect(server.requests.last?.headers.contains(name: "if-none-match") == false)
            #expect(server.requests.last?.headers.contains(name: "if-modified-since") == false)

            let second = try await source.read(ifChangedSince: validators, options: .withoutWaiting()) { _ in
                Issue.record("handed over")
            }
            #expect(second == .notModified(freshFor: .seconds(45)))
            #expect(server.requests.last?.headers["if-none-match"] == [#"W/"a b,c""#])
            #expect(server.requests.last?.headers["if-modified-since"] == [Self.date])
        }
    }

    @Test func aChangedFeedIsPassedOnWithItsNewValidators() async throws {
        try await TestFeedServer.run(answering: Self.answer) { server in
            var read: [UInt8] = []
            let result = try await FeedSource(server.url("/feed")).read(
                ifChangedSince: Validators(etag: #""old""#), options: .withoutWaiting()
            ) { read += $0 }
            #expect(
                result
                    == .document(
                        Validators(etag: #"W/"a b,c""#, lastModified: Self.date), freshFor: .seconds(45)))
            #expect(read == Self.feed)
            #expect(server.requests.last?.headers.contains(name: "if-modified-since") == false)
        }
    }

    @Test(arguments: [nil, Validators()])
    func notModifiedWithoutAConditionIsAnError(validators: Validators?) async throws {
        try await TestFeedServer.run(script: [.whole(.notModified, [])]) { server in
            let error = await failure {
                try await FeedSource(server.url("/feed")).read(
                    ifChangedSince: validators, options: .withoutWaiting()
                ) { _ in }
            }
            #expect(
                error as? FeedError
                    == .unavailable(
                        url: server.url("/feed"), reason: "HTTP status 304 Not Modified", status: 304))
        }
    }

    /// Validators are stored for the URL of the request, although they come from the response after the last redirect.
    @Test func validatorsAreSentAgainAfterARedirect() async throws {
        try await TestFeedServer.run {
            $0.uri == "/old" ? .whole(.movedPermanently, [], headers: ["location": "/new"]) : Self.answer($0)
        } _: { server in
            let source = FeedSource(server.url("/old"))
            guard
                case .document(let validators, _) = try await source.read(
                    options: .withoutWaiting(), { _ in })
            else { return }
            let second = try await source.read(ifChangedSince: validators, options: .withoutWaiting()) { _ in
            }
            #expect(second == .notModified(freshFor: .seconds(45)))
        }
    }

    @Test func aResponseWithoutValidatorsGivesNone() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            let result = try await FeedSource(server.url("/feed")).read(options: .withoutWaiting()) { _ in }
            #expect(result == .document(nil, freshFor: nil))
        }
    }

    /// Header fields of an interim response and trailer fields after the body are ignored.
    @Test func onlyTheFinalResponseHeadIsUsed() async throws {
        let interim = "HTTP/1.1 103 Early Hints\r\nETag: \"early\"\r\n\r\n"
        let answer = """
            HTTP/1.1 200 OK\r\nLast-Modified: \(Self.date)\r\nTransfer-Encoding: chunked\r\nTrailer: ETag\r\n\r\n\
            2\r\n{}\r\n0\r\nETag: "late"\r\n\r\n
            """
        try await TestFeedServer.run(script: [.raw(interim + interim + answer)]) { server in
            var read: [UInt8] = []
            let result = try await FeedSource(server.url("/feed")).read(options: .withoutWaiting()) {
                read += $0
            }
            #expect(result == .document(Validators(lastModified: Self.date), freshFor: nil))
            #expect(read == Array("{}".utf8))
        }
    }

    @Test func aValidatorCannotAddAHeaderField() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            let validators = Validators(etag: "\"a\"\r\nX-More: 1", lastModified: "\nX-More: 2")
            try await FeedSource(server.url("/")).read(
                ifChangedSince: validators, options: .withoutWaiting()
            ) { _ in }
            #expect(server.requests.first?.headers.contains(name: "x-more") == false)
        }
    }

    @Test func aFileHasNoValidators() async throws {
        let result = try await FeedSource.file("/dev/null").read(ifChangedSince: Validators(etag: "x")) { _ in
        }
        #expect(result == .document(nil, freshFor: nil))
    }

    @Test(
        arguments: [
            ([], nil, nil), (["max-age=60"], nil, 60), (["MAX-AGE=60"], "10", 50),
            ([#"max-age="60""#], nil, 60),
            (["public", "max-age=60, must-revalidate"], "60", 0), (["max-age=60"], "61", 0),
            (["max-age=60"], "soon", 60), (["max-age=60", "max-age=30"], nil, 30), (["max-age=-1"], nil, 0),
            (["max-age"], nil, 0), (["max-age=99999999999999999999"], nil, 1 << 31), (["no-store"], nil, 0),
            (["max-age=60, No-Cache"], nil, 0), ([#"no-cache="set-cookie", max-age=60"#], nil, 0),
            (["s-maxage=60"], nil, nil), (["private"], "5", nil),
        ] as [([String], String?, Int?)])
    func aResponseIsFreshForItsMaximumAge(control: [String], age: String?, seconds: Int?) {
        let fields = control.map { ("Cache-Control", $0) } + (age.map { [("Age", $0)] } ?? [])
        let head = HTTPHead(status: 200, line: "HTTP/1.1 200 OK", fields: fields)
        #expect(head.freshFor == seconds.map { .seconds($0) })
    }
}
