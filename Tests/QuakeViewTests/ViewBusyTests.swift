import Feed
import GRDB
import Glibc
import QuakeStore
import QuakeView
import TestSupport
import Testing

@Suite("A view locked by another program")
struct ViewBusyTests {
    @Test("A follower waits until the other program releases the lock, and continues")
    func following() async throws {
        try await withView { database, path in
            try await database.importFeatures([SmallFeed.feature("a")])
            let log = RecordedLog()
            let follower = Follower(
                try database.options(), view: try SQLiteView(path, patience: .milliseconds(20)), name: nil,
                backoff: Backoff(from: .milliseconds(10), to: .milliseconds(50)), logger: log.logger)
            let running = Task { try await follower.run() }
            let first = try await database.positionText()
            try await waitUntil { try FileState.position(path) == first }

            let other = try Self.locked(path)
            try await database.importFeatures([SmallFeed.feature("b")])
            let warning =
                "warning: \(path): another program keeps the file locked; reconnecting until it succeeds"
            try await waitUntil { log.lines.contains(warning) }
            try await other.writeWithoutTransaction { try $0.rollback() }

            let second = try await database.positionText()
            try await waitUntil { try FileState.position(path) == second }
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            try await database.expectSame(path)
        }
    }

    @Test("A single pass fails with an error that says that the file is locked")
    func once() async throws {
        try await withView { database, path in
            let view = try SQLiteView(path, patience: .milliseconds(20))
            let other = try Self.locked(path)
            let error = await #expect(throws: Failure.self) { try await database.catchUp(view) }
            #expect(error == Failure(.busy, "\(path): another program keeps the file locked"))
            try await other.writeWithoutTransaction { try $0.rollback() }
            try await database.catchUp(view)
            try await database.expectSame(path)
        }
    }

    /// Opens a file and locks it for writing, as `begin immediate` in the sqlite3 shell does.
    private static func locked(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // The follower's commit becomes visible a moment before the follower releases its lock, so this program waits for the
        // lock.
        configuration.busyMode = .callback { _ in
            usleep(10_000)
            return true
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
        return queue
    }
}
