import QuakeStore
import QuakeView
import Synchronization
import TestSupport
import Testing

@Suite("The progress of a first pass")
struct PassProgressTests {
    @Test(
        "A snapshot counts all rows, a catch-up counts the changed rows, and a pass without changes reports nothing"
    )
    func progress() async throws {
        try await withView { database, path in
            let seen = Mutex<[PassProgress]>([])
            func catchUp() async throws -> [PassProgress] {
                let view = try SQLiteView(path)
                seen.withLock { $0 = [] }
                try await Follower(
                    try database.options(), view: view, name: nil, logger: .quiet,
                    observer: { progress in seen.withLock { $0.append(progress) } }
                ).catchUp()
                return seen.withLock(\.self)
            }
            try await database.importSample(2500)

            let snapshot = try await catchUp()
            #expect(snapshot.map(\.rows) == [1000, 2000, 2500])
            #expect(snapshot.map(\.isDone) == [false, false, true])
            #expect(snapshot.allSatisfy { $0.isSnapshot && $0.expected == 2500 })

            try await database.query(
                "update quake set magnitude = 11 where code in (select code from quake limit 1200)")
            let changes = try await catchUp()
            #expect(changes.map(\.rows) == [1000, 1200])
            #expect(changes.allSatisfy { !$0.isSnapshot && $0.expected == 1200 })
            try await database.expectSame(path)

            #expect(try await catchUp().isEmpty)
        }
    }
}
