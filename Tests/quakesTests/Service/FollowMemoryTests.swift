import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Memory of a follower")
struct FollowMemoryTests {
    private static let changes = rounds(100, of: 1000).count * 1000

    @Test(
        "A follower needs at most 64 MB for a transaction with very many changes", .measuresMemory,
        arguments: [["--view", "view"], ["--format", "ndjson"]])
    func largeTransaction(_ output: [String]) async throws {
        try await withFolder { folder in
            try await TestServer.shared.withDatabase { database in
                let file = folder.appending(path: "view").path
                let output = output == ["--view", "view"] ? ["--view", file] : output + ["--token", file]
                let arguments = ["follow", "--name", "memory", "--database", database.url] + output
                #expect(try await QuakesCommand().run(arguments + ["--once"]).status == 0)
                try await database.query(
                    """
                    insert into quake (code, net, net_code, place, time, updated, longitude, latitude, extra)
                    select 'q0' || n, 'q0', n::text, repeat('somewhere ', 20), now(), now(), 0, 0,
                           jsonb_build_object('text', repeat('x', 200))
                    from generate_series(1, \(Self.changes)) as n
                    """)

                let peak = Mutex(0)
                let status = try await QuakesCommand().run(arguments) { process in
                    try await waitUntil {
                        try await database.query(
                            "select tokens_behind = 0 as is_done from report.reader_lag")[0]
                            .decode("is_done")
                    }
                    let memory = try #require(try peakMemory(of: process))
                    peak.withLock { $0 = memory }
                    kill(process, SIGTERM)
                }

                #expect(status == 0)
                let megabytes = peak.withLock { $0 } / 1024
                print("\(Self.changes) changes: peak \(megabytes) MB")
                #expect((5...64).contains(megabytes))
            }
        }
    }

    /// The peak memory in KiB; nil if the process has ended.
    private func peakMemory(of process: pid_t) throws -> Int? {
        guard let status = FileManager.default.contents(atPath: "/proc/\(process)/status") else { return nil }
        let lines = String(decoding: status, as: UTF8.self).split(separator: "\n")
        // A zombie has no such line.
        guard let line = lines.first(where: { $0.hasPrefix("VmHWM:") }) else { return nil }
        return Int(line.split(separator: " ")[1])
    }
}
