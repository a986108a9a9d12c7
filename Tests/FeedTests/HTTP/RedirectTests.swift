import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct RedirectTests {
    private static let feed = bytes(of: SampleFeed(count: 20))

    private static func redirect(
        to location: String, _ status: TestStatus = .found
    ) -> TestFeedServer.Answer { .whole(status, [], headers: ["location": location]) }

    private func reason(_ url: String) async -> String? {
        let error = await failure { _ = try await FeedSource(url).contents() }
        guard case .unavailable(_, let reason, _, _) = error as? FeedError else { return nil }
        return reason
    }

    @Test(arguments: [
        TestStatus.movedPermanently, .found, .seeOther, .temporaryRedirect, .permanentRedirect,
    ])
    func aRedirectIsFollowed(status: TestStatus) async throws {
        try await TestFeedServer.run { request in
            switch request.uri {
            case "/old/feed": Self.redirect(to: "../new?a=b#c", status)
            case "/new?a=b": .whole(.ok, Self.feed)
            default: .whole(.notFound, [])
            }
        } _: { server in
            let contents = try await FeedSource(server.url("/old/feed")).contents()
            #expect(contents == Self.feed)
        }
    }

    @Test func atMostFiveRedirectsAreFollowed() async throws {
        try await TestFeedServer.run { request in
            let left = Int(request.uri.dropFirst()) ?? 0
            return left == 0 ? .whole(.ok, Self.feed) : Self.redirect(to: "/\(left - 1)")
        } _: { server in
            let contents = try await FeedSource(server.url("/5")).contents()
            #expect(contents == Self.feed)
            #expect(await reason(server.url("/6")) == "it redirects more than 5 times")
            #expect(server.requests.count == 6 + 6, "and the fetch is not repeated")
        }
    }

    @Test func redirectsInACircleAreNoticed() async throws {
        try await TestFeedServer.run { request in
            switch request.uri {
            case "/a": Self.redirect(to: "/b")
            case "/b": Self.redirect(to: "/a#again")
            default: Self.redirect(to: request.uri)
            }
        } _: { server in
            #expect(await reason(server.url("/a")) == "it redirects in a circle")
            #expect(await reason(server.url("/self")) == "it redirects in a circle")
            #expect(server.requests.count == 3)
        }
    }

    @Test(arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "http://", "unix:///run/x", "//"])
    func aRedirectToAnythingButAnHTTPURLIsRefused(location: String) async throws {
        try await TestFeedServer.run(script: [Self.redirect(to: location)]) { server in
            #expect(
                await reason(server.url("/")) == "it redirects to something that is not an http or https URL")
        }
    }

    @Test func aRedirectWithoutALocationIsAnError() async throws {
        try await TestFeedServer.run(script: [.whole(.found, [])]) { server in
            #expect(await reason(server.url("/")) == "HTTP status 302 Found")
        }
    }

    @Test func anErrorAfterARedirectNamesTheTarget() async throws {
        try await TestFeedServer.run { request in
            request.uri == "/" ? Self.redirect(to: "/new?key=hunter2") : .whole(.forbidden, [])
        } _: { server in
            let error = await failure { _ = try await FeedSource(server.url("/")).contents() }
            #expect(
                error.map { "\($0)" }
                    == "cannot fetch \(server.url("/")): redirected to \(server.url("/new?…")): "
                    + "HTTP status 403 Forbidden")
        }
    }

    /// An origin is a scheme, a host and a port. A server with another port or host name must not receive the password.
    @Test func credentialsAreNotSentToAnotherOrigin() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { other in
            try await TestFeedServer.run { request in
                switch request.uri {
                case "/near": Self.redirect(to: "/feed")
                case "/port": Self.redirect(to: other.url("/feed"))
                case "/name": Self.redirect(to: "http://localhost:\(other.port)/feed")
                case "/given": Self.redirect(to: "http://user:stolen@127.0.0.1:\(other.port)/feed")
                default: .whole(.ok, Self.feed)
                }
            } _: { server in
                let url = "http://user:hunter2@127.0.0.1:\(server.port)"
                _ = try await FeedSource("\(url)/near").contents()
                #expect(server.requests.count == 2)
                #expect(server.requests.allSatisfy { $0.headers.contains(name: "authorization") })
                for path in ["/port", "/name", "/given"] { _ = try await FeedSource(url + path).contents() }
                #expect(other.requests.count == 3)
                #expect(!other.requests.contains { $0.headers.contains(name: "authorization") })
            }
        }
    }

    @Test(arguments: [
        ("HTTP://Feed.Example:80", "http://feed.example/"), ("https://a:443/x#y", "https://a/x"),
        ("http://a:443/?x", "http://a:443/?x"), ("http://[FD12::1]:8080/x?y#z", "http://[fd12::1]:8080/x?y"),
        ("http://user:pa@ss@a/b/../c d", "http://a/c%20d"),
        ("http://a/?next=http:///x", "http://a/?next=http:///x"),
    ])
    func aTargetURLIsNormalised(text: String, url: String) {
        #expect(HTTPTarget(text)?.url == url)
    }
}
