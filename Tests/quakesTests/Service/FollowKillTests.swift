import Foundation
import Glibc
import SampleFeed
import TestSupport
import Testing

/// `QUAKES_STRESS_KILLS=200 swift test --filter FollowKill` kills more often. QUAKES_STRESS_SEED repeats a seed, but not the
/// timing of the server and the scheduler.
@Suite("Killed followers")
struct FollowKillTests {
    private let server = TestServer.shared
    private let kills =
        ProcessInfo.processInfo.environment["QUAKES_STRESS_KILLS"].flatMap { Int($0) } ?? 20

    @Test("A view whose follower is killed again and again equals the table at the end")
    func view() async throws {
        let seed = printedSeed()
        try await withFolder { folder in
            try await server.withDatabase { database in
                let path = folder.appending(path: "view.sqlite").path
                let lives = try Lives(
                    database, ["follow", "--view", path], writing: path + "-wal", seed: seed)
                try await BusyTable(database: database, seed: seed, prunes: true).whileBusy {
                    try await lives.liveAndDie(kills)
                }
                try await lives.catchUp()

                let (table, file) = (try await database.tableText(), try TableText(file: path))
                #expect(table.difference(from: file) == nil)
                let list = try await QuakesCommand().run("list", "--view", path, "--limit", "1")
                let token: Int = try await database.query("select history.current_token() as token")[0]
                    .decode("token")
                #expect(list.errors.contains(" as of token \(token),"), "\(list.errors)")
            }
        }
    }

    @Test(
        "A stream of a killed follower has each change at least once and in order, and its replay gives the table"
    )
    func stream() async throws {
        let seed = printedSeed()
        try await withFolder { folder in
            try await server.withDatabase { database in
                let path = folder.appending(path: "stream").path
                let token = folder.appending(path: "token").path
                let lives = try Lives(
                    database, ["follow", "--format", "ndjson", "--token", token], appendingTo: path,
                    seed: seed)
                // A change before the first position would arrive only as a row of the snapshot.
                try await lives.catchUp()
                try await BusyTable(database: database, seed: seed).whileBusy {
                    try await lives.liveAndDie(kills)
                }
                try await lives.catchUp()

                let replay = try StreamReplay(Data(contentsOf: URL(filePath: path)), lives: lives.beginnings)
                let table = try await StreamReplay.table(of: database)
                #expect(Set(replay.rows.keys) == Set(table.keys))
                #expect(table.allSatisfy { replay.rows[$0.key] == $0.value })
                let history = try await database.query(
                    "select token || '.' || ordinal as place from history.changes(0, 'quake')")
                let missing = try Set(history.map { try $0.decode("place", as: String.self) })
                    .subtracting(replay.changes)
                #expect(missing.isEmpty)
                #expect(replay.disorder == nil)
                #expect(replay.tornLines <= kills)
            }
        }
    }
}

/// Runs one follower again and again. Each run is called a life. SIGKILL ends each life, about half of them shortly after a
/// write, and the next life continues from there.
private final class Lives {
    private let quakes: QuakesCommand
    private let arguments: [String]
    private let output: FileHandle
    /// The file that the follower writes to.
    private let written: URL
    private var random: SplitMix64
    /// The length of the output at the beginning of each life.
    private(set) var beginnings: [Int] = []

    init(
        _ database: TestDatabase, _ arguments: [String], appendingTo path: String = "/dev/null",
        writing written: String? = nil, seed: UInt64
    ) throws {
        quakes = QuakesCommand(["DATABASE_URL": database.url])
        self.arguments = arguments
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        self.written = URL(filePath: written ?? path)
        random = SplitMix64(seed: seed)
    }

    func liveAndDie(_ count: Int) async throws {
        for _ in 0..<count {
            let lifetime = Duration.milliseconds(random.below(400))
            let dyingWords =
                random.below(2) == 0 ? nil : Duration.microseconds(random.below(5000))
            let outcome = try await live(arguments) { [written] process in
                if let dyingWords {
                    let before = written.modification
                    _ = try await eventually(within: .seconds(1)) { written.modification != before }
                    try await Task.sleep(for: dyingWords)
                } else {
                    try await Task.sleep(for: lifetime)
                }
                kill(process, SIGKILL)
            }
            #expect(outcome.status == 128 + SIGKILL, "ended before the kill: \(outcome.errors)")
        }
    }

    /// Starts a life that is not killed: the follower catches up and exits.
    func catchUp() async throws {
        let outcome = try await live(arguments + ["--once"]) { _ in }
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    private func live(
        _ arguments: [String], _ body: @Sendable (pid_t) async throws -> Void
    ) async throws -> QuakesCommand.Outcome {
        var status = stat()
        fstat(output.fileDescriptor, &status)
        beginnings.append(Int(status.st_size))
        return try await quakes.run(arguments, writingTo: output, body)
    }
}

extension URL {
    /// A value that changes with every write to the file.
    fileprivate var modification: [Int] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        return [status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }
}
