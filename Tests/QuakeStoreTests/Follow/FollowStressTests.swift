import Foundation
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

/// Writers that collide on `quake`, and several followers. After every pass, each view compares itself with the table.
///
/// `QUAKES_STRESS_SECONDS=60 swift test --filter FollowStress` runs the test for longer.
@Suite("Following under stress")
struct FollowStressTests {
    @Test("After every pass, followers hold a state that existed, and have each change exactly once")
    func writersAndFollowers() async throws {
        try await TestServer.shared.withDatabase { database in
            let views = (0..<3).map { _ in MemoryView() }
            let following = views.map { view in
                Task { try await database.following(view) { try await waitUntilCancelled() } }
            }
            try await database.writeSideBySide(8) { writer, isDone in
                try await write(database, writer, until: isDone)
            } until: {
                views.allSatisfy { $0.now.changes.count > 200 }
            }
            for view in views { try await database.waitForCatchUp(of: view) }
            for task in following {
                task.cancel()
                _ = await task.result
            }

            let history = try await database.query("select token, ordinal from history.changes(0, 'quake')")
                .map { "\(try $0.decode("token", as: Int.self)).\(try $0.decode("ordinal", as: Int.self))" }
            for view in views {
                // The first snapshot included all changes before it.
                #expect(view.now.changes == history.suffix(view.now.changes.count))
                #expect(view.now.changes.count > 200)
                #expect(view.now.starts == [.first])
            }
            print("\(history.count) changes in \(views.map(\.now.passes)) passes")
        }
    }

    private func waitUntilCancelled() async throws {
        while true { try await Task.sleep(for: .seconds(3600)) }
    }

    /// Every third writer is SERIALIZABLE, and the first two have settings that could make the recorded values imprecise.
    private func write(
        _ database: TestDatabase, _ writer: Int, until isDone: Done
    ) async throws {
        var random = SplitMix64(seed: UInt64(writer))
        let hostile = "-cTimeZone=Asia/Kathmandu -cextra_float_digits=-12 -cdatestyle=German"
        let database = writer < 2 ? database.with(hostile) : database
        try await database.writeAtRandom(
            writer.isMultiple(of: 3) ? .serializable : .readCommitted, upTo: 4, until: isDone, &random,
            collision: "23505"
        ) { try await step($0, &$1) }
    }

    private func step(_ connection: Connection, _ random: inout SplitMix64) async throws {
        let code = "q0\(random.below(60))"
        switch random.below(8) {
        case 0: try await connection.execute("delete from quake where code = \(code)", to: "delete")
        case 1:
            try await connection.execute(
                script: "savepoint s; delete from quake where code = '\(code)'; rollback to s", to: "try")
        case 2:
            try await connection.execute(
                "update quake set code = code || 'x' where code = \(code) and length(code) < 9", to: "rename")
        case 3: try await Task.sleep(for: .milliseconds(random.below(20)))
        default:
            try await connection.execute(
                """
                insert into quake (code, net, net_code, time, updated, longitude, latitude, magnitude)
                values (\(code), 'q0', 'x', now(), clock_timestamp(), random(), random(), random())
                on conflict (code) do update
                set updated = excluded.updated, longitude = excluded.longitude, magnitude = excluded.magnitude
                """, to: "write")
        }
    }
}
