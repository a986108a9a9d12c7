import Foundation
import SampleFeed
import TestSupport
import Testing

@testable import Feed

/// These tests run in separate processes, because they change or count properties of the whole process.
@Suite(.enabled(if: TestCertificates.canBeMade)) struct SurroundingsTests {
    /// libcurl and OpenSSL read environment variables and files. None of them may change the destination of a fetch, the trusted
    /// certificates or the credentials.
    @Test func theEnvironmentDoesNotAffectAFetch() async {
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

    /// The fetches run in a separate process. It prints how much its memory grows, because the comments of its failures are lost.
    @Test(.measuresMemory) func hundredsOfFetchesLeaveNothingBehind() async {
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) {
            try await withTemporaryFolder { folder in
                let certificates = try TestCertificates(in: folder)
                let options = FetchOptions.withoutWaiting().with(\.authorities, certificates.authority)
                try await TestFeedServer.run(answering: answer) { plain in
                    try await TestFeedServer.run(tls: certificates.server, answering: answer) { encrypted in
                        try await fetch(from: [plain, encrypted], 100, options)
                        let (descriptors, memory) = (openDescriptors(), residentMemory())
                        try await fetch(from: [plain, encrypted], 500, options)
                        try await waitUntil { openDescriptors() <= descriptors }
                        let grown = residentMemory() - memory
                        FileHandle.standardError.write(Data("grown by \(grown >> 20) MB\n".utf8))
                        // Each fetch over TLS reads about a megabyte of certificates. If they were not freed, the process would
                        // grow by 160 MB.
                        #expect(grown < 60 << 20)
                    }
                }
            }
        }
        print(String(decoding: result?.standardErrorContent ?? [], as: UTF8.self))
    }
}

/// Fetches in groups of four: one fetch is undisturbed, one is cancelled, one redirected and one cut off. Every third fetch uses
/// TLS.
private func fetch(from servers: [TestFeedServer], _ times: Int, _ options: FetchOptions) async throws {
    for number in 0..<times {
        let url = servers[number % 3 == 0 ? 1 : 0].url("/\(number % 4)")
        let fetch = Task { try await FeedSource(url).contents(options) }
        if number % 4 == 1 { fetch.cancel() }
        switch await fetch.result {
        case .success: #expect(number % 4 != 3)
        case .failure: #expect(number % 4 != 0 && number % 4 != 2)
        }
    }
}

private func answer(_ request: TestRequest) -> TestFeedServer.Answer {
    switch request.uri {
    case "/2": .whole(.found, [], headers: ["location": "/0"])
    case "/3": .cutOff([1, 2, 3], promised: 4)
    default: .whole(.ok, [1, 2, 3])
    }
}

/// The number of open descriptors, without timers: Dispatch opens a timer at the first wait that does not end immediately, and
/// keeps it.
private func openDescriptors() -> Int {
    let folder = "/proc/self/fd"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.count { name in
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
        return target != "anon_inode:[timerfd]"
    }
}
