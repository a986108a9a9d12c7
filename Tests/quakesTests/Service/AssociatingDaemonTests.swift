import Foundation
import Glibc
import PostgreSQL
import SampleFeed
import TestSupport
import Testing

/// A daemon imports real hours of the USGS's feed, while the test inserts events of three made-up agencies. THOROUGH=1 plays 119
/// hours.
@Suite("A daemon that associates and is killed", .needsRealFeeds)
struct AssociatingDaemonTests {
    @Test("After all kills, the earthquakes equal those of a rebuild")
    func replay() async throws {
        let hours = rounds(8, of: 119)
        try await withFolder { folder in
            try await TestServer.shared.withDatabase { database in
                var random = seededRandom()
                let quakes = QuakesCommand(["DATABASE_URL": database.url])
                let feed = folder.appending(path: "all_day.geojson.gz")
                let daemon = ["import", feed.path, "--every", "0.1s"]
                for hour in hours {
                    let name = "replay-all_day/\("00\(hour)".suffix(3)).geojson.gz"
                    try Data(contentsOf: URL(filePath: RealFeeds.path(name))).write(
                        to: feed, options: .atomic)
                    let delay = Duration.milliseconds(Int.random(in: 100...1000, using: &random))
                    _ = try await quakes.run(daemon) { process in
                        async let isOver: Void = Task.sleep(for: delay)
                        for agency in MadeUpAgency.all { try await database.execute(agency.report) }
                        try await isOver
                        kill(process, SIGKILL)
                    }
                }
                // On a slow machine, the killed daemons may not have imported anything. A daemon looks for a second agency only at
                // its start, and after runs that inserted events.
                // The session of the last killed daemon may hold the lock on the source a little longer.
                try await waitUntil { try await quakes.run("import", feed.path).status == 0 }
                for agency in MadeUpAgency.all { try await database.execute(agency.report) }
                let status = try await quakes.run(daemon) { process in
                    for agency in MadeUpAgency.all { try await database.execute(agency.report) }
                    try await database.execute("update quake set place = 'here' where net = 'gfz'")
                    try await waitUntil { try await database.isAssociated() }
                    kill(process, SIGTERM)
                }
                #expect(status == 0)
                let rebuilt = try await quakes.run("associate", "--rebuild")
                #expect(rebuilt.output.hasPrefix("nothing has changed: "), "\(rebuilt)")
                #expect(try await database.query("select from earthquake").count > 20)
            }
        }
    }
}
