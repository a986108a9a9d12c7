import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite struct ProxyTests {
    private static let feed = bytes(of: SampleFeed(count: 20))

    private func options(_ environment: [String: String]) -> FetchOptions {
        .withoutWaiting().with(\.proxies, ProxySettings(environment: environment))
    }

    /// The proxy looks up the host, so the host does not have to exist.
    @Test func aPlainRequestIsForwarded() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { proxy in
            let contents = try await FeedSource("http://user:pw@feed.example:8080/feed?a=b").contents(
                options(["http_proxy": "http://proxy%40user:hunter2@127.0.0.1:\(proxy.port)/"]))
            #expect(contents == Self.feed)
            let request = try #require(proxy.requests.first)
            #expect(request.uri == "http://feed.example:8080/feed?a=b")
            #expect(request.headers["host"] == ["feed.example:8080"])
            // RFC 7617: "proxy@user:hunter2" and "user:pw" in base 64.
            #expect(request.headers["proxy-authorization"] == ["Basic cHJveHlAdXNlcjpodW50ZXIy"])
            #expect(request.headers["authorization"] == ["Basic dXNlcjpwdw=="])
        }
    }

    @Test func aRedirectGoesThroughTheProxyToo() async throws {
        try await TestFeedServer.run {
            $0.uri == "http://feed.example/"
                ? .whole(.found, [], headers: ["location": "//other.example/x"])
                : .whole(.ok, Self.feed)
        } _: { proxy in
            _ = try await FeedSource("http://feed.example").contents(
                options(["http_proxy": "127.0.0.1:\(proxy.port)"]))
            #expect(proxy.requests.map(\.uri) == ["http://feed.example/", "http://other.example/x"])
            #expect(!proxy.requests.contains { $0.headers.contains(name: "proxy-authorization") })
        }
    }

    @Test(.enabled(if: TestCertificates.canBeMade))
    func anEncryptedRequestGoesThroughATunnel() async throws {
        try await withTemporaryFolder { folder in
            // The certificate names only the host: proxy and server have the same address, so a certificate for the address
            // would prove nothing.
            let certificates = try TestCertificates(in: folder, names: "DNS:feed.example")
            try await TestFeedServer.run(tls: certificates.server) { _ in
                .whole(.ok, Self.feed)
            } _: { server in
                let tunnel = try TestTunnel(to: server.port)
                defer { tunnel.close() }
                let options = options(["HTTPS_PROXY": "http://user:hunter2@127.0.0.1:\(tunnel.port)"])
                    .with(\.authorities, certificates.authority)
                let contents = try await FeedSource("https://feed.example/feed?a=b").contents(options)
                #expect(contents == Self.feed)
                #expect(server.requests.map(\.uri) == ["/feed?a=b"])
                #expect(server.requests.first?.headers.contains(name: "proxy-authorization") == false)
                let request = try #require(tunnel.requests.first)
                #expect(request.hasPrefix("CONNECT feed.example:443 HTTP/1.1\r\n"))
                #expect(request.lowercased().contains("proxy-authorization: basic dxnlcjpodw50zxiy\r\n"))

                // The certificate is checked against the feed's host, not the proxy's.
                let error = await failure {
                    _ = try await FeedSource("https://other.example/feed").contents(options)
                }
                #expect(error.map { "\($0)" }?.contains("its TLS certificate is for another host") == true)
            }
        }
    }

    @Test func anErrorNamesTheProxyAndNotItsPassword() async throws {
        let closed = try RefusingPort()
        for scheme in ["http", "https"] {
            let error = await failure {
                _ = try await FeedSource("\(scheme)://feed.example/").contents(
                    options(["all_proxy": "http://user:hunter2@127.0.0.1:\(closed.number)"]))
            }
            #expect(
                error as? FeedError
                    == .unavailable(
                        url: "\(scheme)://feed.example/",
                        reason: "proxy 127.0.0.1:\(closed.number): Connection refused, after 4 attempts"))
        }
        withExtendedLifetime(closed) {}
        let forbidden = try TestTunnel(to: 1, answering: "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        defer { forbidden.close() }
        let error = await failure {
            _ = try await FeedSource("https://feed.example/").contents(
                options(["https_proxy": "http://127.0.0.1:\(forbidden.port)"]))
        }
        #expect(
            error as? FeedError
                == .unavailable(
                    url: "https://feed.example/",
                    reason:
                        "proxy 127.0.0.1:\(forbidden.port): it asks for a user and a password; "
                        + "add them to the proxy's URL"))
        #expect(forbidden.requests.count == 1)
    }

    @Test(arguments: [
        "socks5://user:hunter2@host:1080", "https://user:hunter2@host", "http://", "ho st", "host:0",
    ])
    func anUnsupportedProxyIsAnError(value: String) async throws {
        let error = await failure {
            _ = try await FeedSource("http://feed.example/").contents(options(["http_proxy": value]))
        }
        #expect(
            error as? FeedError
                == .unavailable(
                    url: "http://feed.example/",
                    reason:
                        "http_proxy is not of the form http://HOST:PORT; other kinds of proxies are not supported"
                ))
    }

    @Test(arguments: [
        ("http://a/", ["http_proxy": "p"], true), ("https://a/", ["http_proxy": "p"], false),
        ("http://a/", ["HTTP_PROXY": "p"], false), ("http://a/", ["https_proxy": "p"], false),
        ("https://a/", ["https_proxy": "p"], true), ("https://a/", ["HTTPS_PROXY": "p"], true),
        ("http://a/", ["all_proxy": "p"], true), ("https://a/", ["ALL_PROXY": "p"], true),
        ("http://a/", ["http_proxy": "", "all_proxy": "p"], true), ("http://a/", ["http_proxy": " "], false),
        ("http://localhost/", ["http_proxy": "p"], false), ("http://127.1.2.3/", ["http_proxy": "p"], false),
        ("http://[::1]/", ["http_proxy": "p"], false), ("http://[::2]/", ["http_proxy": "p"], true),
    ])
    func theEnvironmentNamesTheProxy(url: String, environment: [String: String], isUsed: Bool) throws {
        let target = try #require(HTTPTarget(url))
        let proxy = try ProxySettings(environment: environment).proxy(for: target)
        #expect(proxy == (isUsed ? Proxy("http://p:80") : nil))
    }

    @Test(arguments: [
        ("*", "http://a.b/", true), ("a.b", "http://a.b/", true), ("a.b", "http://x.A.B/", true),
        ("a.b", "http://xa.b/", false), (".a.b", "http://x.a.b/", true), ("*.a.b", "http://x.a.b/", true),
        ("c, a.b", "http://a.b/", true), ("a.b:8080", "http://a.b/", false),
        ("a.b:8080", "http://a.b:8080/", true), ("10.1.2.3", "http://10.1.2.3/", true),
        ("10.0.0.0/8", "http://10.1.2.3/", true), ("10.0.0.0/8", "http://11.1.2.3/", false),
        ("10.0.0.0/x", "http://10.0.0.0/", false), ("0.0.0.0/0", "http://10.1.2.3/", true),
        ("10.0.0.0/8", "http://a.b/", false), ("fd00::/8", "http://[fd12::1]/", true),
        ("[fd12::1]", "http://[fd12::1]/", true), ("fd00::/8", "http://[fe80::1]/", false),
        ("[fd12::1]:8080", "http://[fd12::1]:8080/", true), ("[fd12::1]:8080", "http://[fd12::1]/", false),
        ("[fd12::1]:8080", "http://[fd12::1:8080]/", false), ("10.1.2.3:80", "http://10.1.2.3/", true),
        ("::/0", "http://[fd12::1]/", true), ("::/0", "http://10.1.2.3/", false),
        ("::ffff:10.0.0.0/104", "http://10.1.2.3/", true), ("10.0.0.0/8", "http://[::ffff:10.1.2.3]/", true),
        ("", "http://a/", false),
    ])
    func theNoProxyVariableListsServersThatAreReachedDirectly(list: String, url: String, isDirect: Bool)
        throws
    {
        let target = try #require(HTTPTarget(url))
        for name in ["no_proxy", "NO_PROXY"] {
            let settings = ProxySettings(environment: ["http_proxy": "p", name: list])
            let proxy = try settings.proxy(for: target)
            #expect((proxy == nil) == isDirect)
        }
    }
}
