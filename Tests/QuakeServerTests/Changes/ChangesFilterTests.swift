import Feed
import Foundation
import QuakeStore
import SampleFeed
import TestSupport
import Testing

@testable import QuakeServer

@Suite("The filtered stream of changes")
struct ChangesFilterTests {
    private let server = TestServer.shared

    /// The oracle is a query with the same parameters, as of the position's token.
    @Test(
        "At each position, a live client has the rows that a query finds, and a late client gets all their changes"
    )
    func oracle() async throws {
        try await server.withDatabase { database in
            var random = seededRandom()
            var writer = RandomWriter(random)
            try await writer.write(5, to: database)
            let filters = rounds(5, of: 12).map { _ in filter(&random) }
            try await TestSite.run(of: database) { [writer] site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                var writer = writer
                for filter in filters {
                    try await StreamClient.with(site, filter) { client in
                        try #require(client.status == 200, "\(filter)")
                        var events = await client.pass()
                        try await writer.write(6, to: database)
                        let newest = try await database.newestToken()
                        events += await client.events(upTo: newest)
                        try await Self.check(events, filter, site)
                        // A client that starts at an earlier token gets the changes from the history, in one pass.
                        for token in [1, newest / 2] {
                            let query = "\(filter)&after=\(token)"
                            let late = try await StreamClient.with(site, query) { await $0.pass() }
                            try await Self.checkChanges(late, after: token, filter, site)
                        }
                    }
                }
            }
        }
    }

    private static func check(_ events: [StreamClient.Event], _ filter: String, _ site: TestSite) async throws
    {
        var replica = StreamReplica()
        for event in events {
            try replica.apply(event)
            guard event.isPosition else { continue }
            let codes = try await codes(asOf: replica.token, filter, site)
            #expect(replica.codes == codes, "\(filter) at \(replica.token)")
        }
        #expect(replica.snapshots == ["first start"])
    }

    /// Checks that a pass has the changes of all rows that match the filter now or matched it at `token`, and that `selected`
    /// says whether the row still matches.
    private static func checkChanges(
        _ pass: [StreamClient.Event], after token: Int, _ filter: String, _ site: TestSite
    ) async throws {
        let last = try #require(pass.last?.members["token"] as? Int)
        let before = try await codes(asOf: token, filter, site)
        let after = try await codes(asOf: last, filter, site)
        let all = try await StreamClient.with(site, "after=\(token)", events: false) {
            await $0.events(upTo: last)
        }
        let expected = all.filter { event in
            guard event.isChange, let key = event.members["key"] as? String else { return false }
            return before.contains(key) || after.contains(key)
        }
        let changes = pass.filter(\.isChange)
        #expect(changes.map(\.place) == expected.map(\.place), "\(filter) after \(token)")
        for change in changes {
            let key = try #require(change.members["key"] as? String)
            #expect(change.members["selected"] as? Bool == after.contains(key), "\(filter): \(key)")
        }
    }

    private static func codes(asOf token: Int, _ filter: String, _ site: TestSite) async throws -> Set<String>
    {
        let answer = try await site.get("/fdsnws/event/1/query?format=csv&asof=\(token)&\(filter)")
        #expect(answer.status == 200, "\(answer.text)")
        let lines = answer.text.split(separator: "\n").dropFirst()
        return Set(lines.map { String($0.split(separator: ",", omittingEmptySubsequences: false)[11]) })
    }

    /// The service refuses a minimum above a maximum, so a filter never has one.
    private func filter(_ random: inout SplitMix64) -> String {
        let all = [
            "minmagnitude=\(Double(random.below(30)) / 10)",
            "maxmagnitude=\(Double(30 + random.below(30)) / 10)",
            "eventtype=quarry%20blast", "eventtype=Earthquake", "mindepth=\(random.below(700))",
            "minlongitude=\(random.below(360) - 180)&maxlongitude=\(random.below(360) - 180)",
            "latitude=0&longitude=0&maxradius=\(random.below(180) + 1)", "producttype=a,b,origin",
            "catalog=Q0",
            "eventid=q01,q02,q03", "starttime=2023-11-15T\(random.below(5) + 10):00:00",
            "endtime=2023-11-15T\(random.below(4) + 15):00:00.5",
        ]
        return Set((0...random.below(2)).map { _ in all[random.below(all.count)] })
            .reduce(into: [String: String]()) { $0["\($1.prefix { $0 != "=" })"] = $1 }.values
            .joined(separator: "&")
    }
}
