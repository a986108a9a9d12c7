import Association
import Feed
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

/// Replays hourly snapshots of a real day feed of the USGS. Three made-up agencies report the same earthquakes, revise them when
/// the USGS does, and withdraw some of those that the USGS withdraws.
@Suite("Association of a replayed feed", .needsRealFeeds)
struct ReplayedAssociationTests {
    @Test(
        "An associator whose sessions are killed keeps the tables equal to a rebuild, now and as of earlier moments"
    )
    func replay() async throws {
        let hours = rounds(12, of: 119)
        try await TestServer.shared.withDatabase { database in
            var random = seededRandom()
            var moments: [(token: Int, earthquakes: [Earthquake])] = []
            let follower = Follower(
                try database.options(), view: Associator(logger: .quiet), name: nil,
                backoff: Backoff(from: .milliseconds(5), to: .milliseconds(50)), logger: .quiet)
            let following = Task { try await follower.run() }
            for hour in hours {
                let name = String(repeating: "0", count: 3 - "\(hour)".count) + "\(hour).geojson.gz"
                _ = try await database.importFile(
                    RealFeeds.folder.appending(path: "replay-all_day/\(name)").path)
                for agency in MadeUpAgency.all {
                    try await database.execute(agency.report)
                    if random.chance(1, in: 3) { _ = try await database.otherSessions(ending: true) }
                }
                try await waitUntil { try await database.isAssociated() }
                guard hour == hours.upperBound || random.chance(1, in: 2) else { continue }
                try await database.withConnection { connection in
                    let table = AssociatedTable(connection: connection)
                    let expected = try await table.expected()
                    #expect(try await table.earthquakes() == expected, "hour \(hour)")
                    moments.append((try await table.token, expected))
                }
            }
            following.cancel()
            await #expect(throws: CancellationError.self) { try await following.value }
            try await database.withConnection { connection in
                let table = AssociatedTable(connection: connection)
                let earthquakes = try await table.earthquakes()
                #expect(earthquakes.count > 50)
                for moment in moments {
                    #expect(
                        try await table.earthquakes(asOf: moment.token) == moment.earthquakes,
                        "token \(moment.token)")
                }
                #expect(try await table.associate(rebuilds: true).written == 0)
            }
        }
    }
}
