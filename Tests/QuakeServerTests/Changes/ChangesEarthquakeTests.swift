import Foundation
import QuakeStore
import TestSupport
import Testing

@testable import QuakeServer

/// When the members of an earthquake change, clients that follow its rows get these rows again, even though no row has changed.
@Suite("Earthquakes in the stream of changes")
struct ChangesEarthquakeTests {
    private let server = TestServer.shared

    @Test("A row names its earthquake in the snapshot, live and from the history, with and without a filter")
    func named() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a"])
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                for filter in ["", "minmagnitude=5.05"] {
                    try await database.group(["us1", "gfz:a"])
                    let start = try await database.newestToken()
                    try await StreamClient.with(site, filter) { client in
                        let snapshot = await client.events(upTo: start)
                        let isFiltered = !filter.isEmpty
                        #expect(Self.earthquakes(snapshot)["gfz:a"] == ["us1", "gfz:a us1"])
                        #expect(
                            Self.earthquakes(snapshot)["us1"] == (isFiltered ? nil : ["us1", "gfz:a us1"]))
                        #expect(Self.earthquakes(snapshot)["emsc:b"] == [])

                        // A third row joins. Every selected row comes with the new earthquake, although its own columns have not
                        // changed.
                        try await database.group(["us1", "gfz:a", "emsc:b"], preferred: "gfz:a")
                        let end = try await database.newestToken()
                        let live = await client.events(upTo: end)
                        let late = try await StreamClient.with(
                            site, "\(filter)\(isFiltered ? "&" : "")after=\(start)", events: false
                        ) { await $0.events(upTo: end) }
                        for events in [live, late] {
                            let changes = events.filter(\.isChange)
                            let expected = isFiltered ? ["emsc:b", "gfz:a"] : ["emsc:b", "gfz:a", "us1"]
                            #expect(changes.compactMap { $0.members["key"] as? String }.sorted() == expected)
                            for change in changes {
                                #expect(change.members["operation"] as? String == "update")
                                #expect((change.members["before"] as? [String: Any])?.isEmpty == true)
                                #expect(change.members["selected"] as? Bool == (isFiltered ? true : nil))
                            }
                            #expect(
                                Self.earthquakes(events).values.allSatisfy {
                                    $0 == ["gfz:a", "emsc:b gfz:a us1"]
                                })
                        }
                    }
                }
            }
        }
    }

    @Test(
        "When an earthquake is dissolved, its rows are sent again without it; a deleted row is sent once, as deleted"
    )
    func parted() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"])
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                let start = try await database.newestToken()
                try await StreamClient.with(site, "after=\(start)") { client in
                    _ = await client.pass()
                    try await database.query("delete from quake where code = 'us1'")
                    try await database.group(["gfz:a", "emsc:b"])
                    try await database.group(["gfz:a"])
                    let end = try await database.newestToken()
                    let live = await client.events(upTo: end)
                    let late = try await StreamClient.with(site, "after=\(start)", events: false) {
                        await $0.events(upTo: end)
                    }
                    for events in [live, late] {
                        let deleted = events.filter { $0.members["key"] as? String == "us1" }
                        #expect(deleted.map { $0.members["operation"] as? String } == ["delete"])
                        #expect(Self.earthquakes(events)["gfz:a"] == [])
                        #expect(Self.earthquakes(events)["emsc:b"] == [])
                    }
                }
            }
        }
    }

    @Test("When only a third row of an earthquake is replaced by another, the other rows are sent again")
    func replaced() async throws {
        try await server.withDatabase { database in
            try await database.importAgencies()
            try await database.group(["us1", "gfz:a", "emsc:b"])
            try await TestSite.run(of: database) { site in
                try await waitUntil { try await site.get(dayPath).status == 200 }
                for (filter, old, new) in [
                    ("", "emsc:b", "emsc:c"), ("&minmagnitude=5.05", "emsc:c", "emsc:b"),
                ] {
                    let start = try await database.newestToken()
                    try await database.query("update earthquake_member set code = \(new) where code = \(old)")
                    try await database.query(
                        "update earthquake_member set cost = cost + 1 where code = \(new)")
                    let end = try await database.newestToken()
                    let events = try await StreamClient.with(site, "after=\(start)\(filter)", events: false) {
                        await $0.events(upTo: end)
                    }
                    let found = Self.earthquakes(events)
                    #expect(found[old] == (filter.isEmpty ? [] : nil))
                    #expect(found[new] == ["us1", "\(new) gfz:a us1"])
                    #expect(found["gfz:a"] == ["us1", "\(new) gfz:a us1"])
                    #expect(found["us1"] == (filter.isEmpty ? ["us1", "\(new) gfz:a us1"] : nil))
                }
            }
        }
    }

    /// The earthquake of each row that arrived, as last received: its preferred row, and its members. The list is empty for a row
    /// without an earthquake.
    private static func earthquakes(_ events: [StreamClient.Event]) -> [String: [String]] {
        var found: [String: [String]] = [:]
        for event in events {
            guard let row = event.members["row"] as? [String: Any], let code = row["code"] as? String else {
                continue
            }
            let named = event.members["earthquake"] as? [String: Any]
            let members = (named?["members"] as? [String])?.joined(separator: " ")
            found[code] = named.map { [$0["preferred"] as? String ?? "", members ?? ""] } ?? []
        }
        return found
    }
}
