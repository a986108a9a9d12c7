import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

/// In processes of their own: what belongs to a process is counted, or set.
@Suite(.endsHanging, .enabled(if: TestCertificates.canBeMade)) struct SurroundingsTests {
    /// libcurl and OpenSSL read variables and files by themselves. None of them may change where a fetch goes, whom it
    /// trusts, or what it tells.
    @Test func onlyTheOptionsCount() async {
        await #expect(processExitsWith: .success) {
            try await withTemporaryFolder { folder in
                let closed = try RefusingPort()
                let certificates = try TestCertificates(in: folder)
                try Data("default login user password hunter2\n".utf8).write(
                    to: folder.appending(path: ".netrc"))
                for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                    setenv(name, "http://127.0.0.1:\(closed.number)", 1)
                }
                setenv("no_proxy", "*", 1)
                setenv("HOME", folder.path, 1)
                setenv("SSL_CERT_FILE", certificates.authority, 1)

                try await TestFeedServer.run(script: [.whole(.ok, [1, 2, 3])]) { server in
                    _ = try await FeedSource(server.url("/direct")).contents()
                    let proxies = ProxySettings(environment: ["http_proxy": "127.0.0.1:\(server.port)"])
                    _ = try await FeedSource("http://feed.example/").contents(
                        .withoutWaiting().with(\.proxies, proxies))
                    #expect(server.requests.map(\.uri) == ["/direct", "http://feed.example/"])
                    #expect(!server.requests.contains { $0.headers.contains(name: "authorization") })
                }
                try await TestFeedServer.run(tls: certificates.server) { _ in
                    .whole(.ok, [])
                } _: { server in
                    let error = await failure { _ = try await FeedSource(server.url("/")).contents() }
                    #expect(error.map { "\($0)" }?.contains("not trusted") == true)
                }
                withExtendedLifetime(closed) {}
            }
        }
    }

    @Test func aThousandFetchesLeaveNothingBehind() async {
        await #expect(processExitsWith: .success) {
            try await withTemporaryFolder { folder in
                func count(_ kind: String) -> Int {
                    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(kind)").count) ?? 0
                }
                let certificates = try TestCertificates(in: folder)
                let options = FetchOptions.withoutWaiting().with(\.authorities, certificates.authority)
                    .with(\.readTimeout, .milliseconds(20))
                func fetch(from servers: [TestFeedServer], _ times: Int) async throws {
                    for number in 0..<times {
                        let url = servers[number % 10 == 0 ? 1 : 0].url("/\(number % 4)")
                        let fetch = Task { try await FeedSource(url).contents(options) }
                        if number % 4 == 1 { fetch.cancel() }
                        _ = try? await fetch.value
                    }
                }
                let answer: @Sendable (TestRequest) -> TestFeedServer.Answer = {
                    switch $0.uri {
                    case "/2": .whole(.found, [], headers: ["location": "/0"])
                    case "/3": .cutOff([1, 2, 3], promised: 4)
                    default: .whole(.ok, [1, 2, 3])
                    }
                }
                try await TestFeedServer.run(answering: answer) { plain in
                    try await TestFeedServer.run(tls: certificates.server, answering: answer) { encrypted in
                        try await fetch(from: [plain, encrypted], 100)
                        let (descriptors, memory) = (count("fd"), residentMemory())
                        try await fetch(from: [plain, encrypted], 900)
                        #expect(try await eventually { count("fd") <= descriptors })
                        #expect(residentMemory() - memory < 32 << 20, "a trust store each would be 90 MB")
                    }
                }
            }
        }
    }
}
