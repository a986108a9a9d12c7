import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

@Suite(.enabled(if: TestCertificates.canBeMade)) struct TLSTests {
    private static let feed = bytes(of: SampleFeed(count: 20))

    private func reason(_ url: String, _ options: FetchOptions = .withoutWaiting()) async -> String? {
        let error = await failure { _ = try await FeedSource(url).contents(options) }
        guard case .unavailable(_, let reason, _, _) = error as? FeedError else { return nil }
        return reason
    }

    @Test func anUnknownAuthorityIsTrustedOnlyWhenItIsNamed() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(in: folder)
            try await TestFeedServer.run(tls: certificates.server) { _ in
                .whole(.ok, Self.feed)
            } _: { server in
                let waits = Waits()
                let refused = await reason(server.url("/feed"), .withoutWaiting(noting: waits))
                #expect(
                    refused == """
                        its TLS certificate is not trusted (self-signed, expired, or of an unknown authority); to \
                        trust your own authority, use --ca-file or SSL_CERT_FILE
                        """)
                #expect(waits.all == [], "the fetch is not repeated")
                #expect(server.requests.isEmpty)
                let contents = try await FeedSource(server.url("/feed")).contents(
                    .withoutWaiting().with(\.authorities, certificates.authority))
                #expect(contents == Self.feed)
            }
        }
    }

    @Test func aCertificateForAnotherHostIsRefused() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(in: folder, names: "IP:127.0.0.2,DNS:feed.example")
            try await TestFeedServer.run(tls: certificates.server) { _ in
                .whole(.ok, Self.feed)
            } _: { server in
                let options = FetchOptions.withoutWaiting().with(\.authorities, certificates.authority)
                #expect(
                    await reason(server.url("/feed"), options) == "its TLS certificate is for another host")
                #expect(server.requests.isEmpty)
            }
        }
    }

    @Test func theErrorForAServerWithoutTLSNamesTheHandshake() async throws {
        try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { server in
            let text = await reason("https://127.0.0.1:\(server.port)/feed")
            #expect(text?.hasPrefix("the TLS handshake failed: ") == true, "\(text ?? "nil")")
        }
    }

    @Test func aFileWithoutCertificatesIsAnError() async throws {
        try await withTemporaryFolder { folder in
            let garbage = folder.appending(path: "garbage").path
            try Data("garbage".utf8).write(to: URL(filePath: garbage))
            for path in [garbage, folder.appending(path: "missing").path, folder.path] {
                let error = await failure {
                    _ = try await FeedSource("https://127.0.0.1:1/").contents(
                        .withoutWaiting().with(\.authorities, path))
                }
                #expect(
                    error as? FeedError
                        == .noInput(path: path, reason: "not a readable file of PEM certificates"))
            }
        }
    }

    @Test func aRedirectNeverLeavesTLS() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(in: folder)
            try await TestFeedServer.run(script: [.whole(.ok, Self.feed)]) { plain in
                try await TestFeedServer.run(tls: certificates.server) { _ in
                    .whole(.found, [], headers: ["location": plain.url("/feed")])
                } _: { server in
                    let options = FetchOptions.withoutWaiting().with(\.authorities, certificates.authority)
                    #expect(
                        await reason(server.url("/feed"), options)
                            == "it redirects from https to http, where anyone could change the feed")
                    #expect(plain.requests.isEmpty)
                }
            }
        }
    }

    @Test func aBodyThatIsCutOffIsAnErrorUnderTLSToo() async throws {
        try await withTemporaryFolder { folder in
            let certificates = try TestCertificates(in: folder)
            try await TestFeedServer.run(tls: certificates.server) {
                $0.uri == "/chunked"
                    ? .cutOffChunked(Self.feed) : .cutOff(Self.feed, promised: Self.feed.count + 1)
            } _: { server in
                let options = FetchOptions.withoutWaiting().with(\.authorities, certificates.authority)
                for path in ["/chunked", "/length"] {
                    #expect(
                        await reason(server.url(path), options) == "the connection ended before the feed did")
                }
            }
        }
    }
}
