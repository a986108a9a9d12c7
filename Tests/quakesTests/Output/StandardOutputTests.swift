import Foundation
import TestSupport
import Testing

@Suite("Standard output")
struct StandardOutputTests {
    /// ssh and Node.js can make a pipe non-blocking for all programs that use the pipe.
    @Test("A long output is complete even if the pipe is non-blocking")
    func nonBlocking() async throws {
        let sample = ["sample", "--count", "20000", "--until", "2026-01-01"]
        var quakes = QuakesCommand()
        let expected = try await quakes.run(sample)
        quakes.launcher = [
            "python3", "-c", "import os, sys; os.set_blocking(1, False); os.execv(sys.argv[1], sys.argv[1:])",
        ]
        let outcome = try await quakes.run(sample)
        #expect(outcome.status == 0 && outcome.errors == "", "\(outcome.errors)")
        // The outputs are too long to be shown.
        let isComplete = outcome.output == expected.output
        #expect(isComplete)
    }

    @Test("A signal ends a sample, however long it is")
    func interruptedSample() async throws {
        let pipe = Pipe()
        let outcome = try await QuakesCommand().run(
            ["sample", "--count", "1000000000000"], writingTo: pipe.fileHandleForWriting
        ) { process in
            _ = try pipe.fileHandleForReading.read(upToCount: 1)
            kill(process, SIGTERM)
            // A full pipe would stop the sample.
            Thread.detachNewThread {
                while let data = try? pipe.fileHandleForReading.read(upToCount: 1 << 16), !data.isEmpty {}
            }
        }
        try pipe.fileHandleForWriting.close()
        #expect(outcome.status == 143)
    }

    @Test("An error that contains a server's words does not control the terminal")
    func hostileError() async throws {
        try await TestServer.shared.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let header = "#EventID|Time|Latitude|Longitude|\u{1B}[31mDep\u{7}|Magnitude\n"
            let outcome = try await quakes.run("import", "-", input: header)
            #expect(outcome.status == 65 && outcome.errors.contains("\u{FFFD}[31mDep"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("\u{1B}"))
        }
    }

    /// The test process ignores SIGPIPE. A program that a shell starts does not.
    @Test("An import whose reader has gone away imports all sources, and then ends with 74")
    func withoutReader() async throws {
        try await TestServer.shared.withDatabase { database in
            try await withFolder { folder in
                let codes = ["a", "b", "c"]
                for code in codes {
                    try SmallFeed.document([SmallFeed.feature(code)]).write(
                        to: folder.appending(path: code), atomically: true, encoding: .utf8)
                }
                var quakes = QuakesCommand(["DATABASE_URL": database.url])
                quakes.launcher = ["env", "--default-signal=PIPE"]
                let pipe = Pipe()
                try pipe.fileHandleForReading.close()
                let outcome = try await quakes.run(
                    ["import"] + codes.map { folder.appending(path: $0).path },
                    writingTo: pipe.fileHandleForWriting
                ) { _ in }
                #expect(outcome.status == 74)
                #expect(try await database.query("select from quake").count == 3)
            }
        }
    }
}
