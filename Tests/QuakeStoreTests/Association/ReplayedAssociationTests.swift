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
        "Killed at random, an associator keeps the tables equal to a rebuild, now and at every past moment"
    )
    func replay() async throws {
        let hours = rounds(12, of: 120)
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
                for (agency, scatter) in [("gfz", 1.0), ("emsc", 2), ("ingv", 0.5)] {
                    try await database.execute(Self.report(agency, scatter))
                    if random.chance(1, in: 3) { _ = try await database.otherSessions(ending: true) }
                }
                try await waitUntil { try await isDone(database) }
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

    private func isDone(_ database: TestDatabase) async throws -> Bool {
        try await database.query(
            """
            select not exists (
                select from history.transaction t join history.change c on c.transaction = t.id
                where c.entity = 'quake' and t.token > coalesce((select token from import.association), 0)) as is_done
            """)[0].decode("is_done")
    }

    /// Reports two thirds of the earthquakes. Each report deviates by amounts that are derived from the code.
    private static func report(_ agency: String, _ scatter: Double) -> String {
        func part(_ word: String, _ size: Double) -> String {
            "(hashtext(q.code || '\(agency) \(word)') % 1000) / 1000.0 * \(size * scatter)"
        }
        return """
            begin;
            insert into quake (code, net, net_code, time, updated, longitude, latitude, depth, magnitude, magnitude_type)
            select '\(agency):' || q.code, '\(agency)', q.code, q.time + interval '1 second' * \(part("time", 2)), q.updated,
                   q.longitude + \(part("longitude", 0.1)), q.latitude + \(part("latitude", 0.1)), q.depth,
                   q.magnitude + \(part("magnitude", 0.3)), 'mb'
            from quake q
            where report.agency(q.net) = 'usgs' and hashtext(q.code || '\(agency)') % 3 <> 0
            on conflict (code) do update
            set time = excluded.time, updated = excluded.updated, longitude = excluded.longitude, latitude = excluded.latitude,
                depth = excluded.depth, magnitude = excluded.magnitude
            where quake.updated < excluded.updated;
            delete from quake g
            where g.net = '\(agency)' and hashtext(g.code) % 2 = 0 and not exists (select from quake q where q.code = g.net_code);
            commit
            """
    }
}
