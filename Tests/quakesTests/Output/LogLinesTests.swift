import Feed
import Foundation
import Glibc
import TestSupport
import Testing

@testable import quakes

@Suite("A log on a full disk")
struct LogLinesTests {
    @Test("Lost lines are counted, and the count is logged once lines can be written again")
    func fullDisk() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "log").path
            let descriptor = open("/dev/full", O_WRONLY)
            defer { close(descriptor) }
            let lines = LogLines(to: descriptor)
            #expect(lines.write("one\n") == .lost("No space left on device"))
            #expect(lines.write("two\n") == .lostAgain)
            #expect(lines.hasLost)

            let file = open(path, O_WRONLY | O_CREAT, 0o600)
            dup2(file, descriptor)
            close(file)
            let words = "2 lines were lost: No space left on device"
            #expect(lines.write("three\n") { "log: \($0)" } == .writtenAgain(words))
            #expect(lines.write("four\n") == .written)
            let written = try String(contentsOfFile: path, encoding: .utf8)
            #expect(written == "log: \(words)\nthree\nfour\n")
        }
    }

    /// reader                   empties the pipe
    /// log      fills the pipe                       writes more
    @Test("A line that was cut short is separated from the next one")
    func torn() throws {
        let pipe = Pipe()
        let (reader, writer) = (pipe.fileHandleForReading, pipe.fileHandleForWriting.fileDescriptor)
        _ = fcntl(writer, F_SETFL, O_NONBLOCK)
        let lines = LogLines(to: writer)
        let long = String(repeating: "x", count: 1 << 20)
        #expect(lines.write(long + "\n") == .lost("Resource temporarily unavailable"))
        _ = fcntl(reader.fileDescriptor, F_SETFL, O_NONBLOCK)
        #expect(rest(reader).allSatisfy { $0 == UInt8(ascii: "x") })
        #expect(lines.write("next\n") == .writtenAgain("1 line was lost: Resource temporarily unavailable"))
        #expect(String(decoding: rest(reader), as: UTF8.self) == "\nnext\n")
    }

    /// The bytes that are in the pipe now.
    private func rest(_ reader: FileHandle) -> [UInt8] {
        var rest: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = read(reader.fileDescriptor, &piece, piece.count), count > 0 {
            rest += piece[..<count]
        }
        return rest
    }

    @Test(
        "An import continues if its output and its log cannot be written, and then ends with an error's code")
    func imports() async throws {
        try await TestServer.shared.withDatabase { database in
            try await SmallFeed.withFile(SmallFeed.document([SmallFeed.feature("a")])) { one in
                try await SmallFeed.withFile(SmallFeed.document([SmallFeed.feature("b")])) { other in
                    var quakes = QuakesCommand(["DATABASE_URL": database.url])
                    quakes.launcher = ["sh", "-c", #"exec "$0" "$@" >/dev/full 2>/dev/full"#]
                    let outcome = try await quakes.run("import", one, "nofile", other)
                    #expect(outcome.status == 66)
                    #expect(try await database.query("select from quake").count == 2)
                    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
                    let said = try await QuakesCommand(["DATABASE_URL": database.url])
                        .run(["import", one, other], writingTo: full) { _ in }
                    #expect(said.status == 74)
                    #expect(said.errors == "quakes: cannot write the output: No space left on device\n")
                    let daemon = try await QuakesCommand(["DATABASE_URL": database.url])
                        .run(["import", one, "--every", "0.1s"], writingTo: full) { process in
                            let runs = try await database.query("select from import.run").count
                            try await waitUntil {
                                try await database.query("select from import.run where outcome = 'done'")
                                    .count
                                    > runs
                            }
                            kill(process, SIGTERM)
                        }
                    #expect(daemon.status == 74)
                }
            }
        }
    }

    @Test("A server whose log cannot be written still serves")
    func serves() async throws {
        try await TestServer.shared.withDatabase { database in
            let socket = try LoopbackSocket.bound(queue: nil)
            let port = socket.port
            socket.close()
            var quakes = QuakesCommand(["DATABASE_URL": database.url])
            quakes.launcher = ["sh", "-c", #"exec "$0" "$@" 2>/dev/full"#]
            let status = try await quakes.run(["serve", "--listen", "127.0.0.1:\(port)"]) { process in
                try await waitUntil { LoopbackSocket.health(at: port).contains("\"status\":\"ok\"") }
                kill(process, SIGTERM)
            }
            #expect(status == 0)
        }
    }
}
