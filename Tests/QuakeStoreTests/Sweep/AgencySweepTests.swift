import Feed
import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// Covers changes that other agencies make to their events, but the USGS does not make.
@Suite("Sweeps of other agencies")
struct AgencySweepTests {
    let server = TestServer.shared
    private static let minute = 60_000
    private static let day = 86_400_000
    private static let now = Int(Date().timeIntervalSince1970) * 1000 - 60 * minute

    /// Runs `body` with events of these codes, a quarter of a day apart.
    private func withEvents(
        _ codes: [String], at service: String,
        _ body: (TestDatabase, TestCatalogue, _ sweep: () async throws -> ImportSummary) async throws -> Void
    ) async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.text])
        catalogue.change { state in
            for (index, code) in codes.enumerated() {
                let time = Self.now - (index + 1) * Self.day / 4
                state.add(TestCatalogue.Event(code, time: time, updated: time))
            }
        }
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                try await body(database, catalogue) {
                    let now = Instant(milliseconds: Int64(catalogue.change { $0.now }))
                    return try await database.sweep(service, through: server) { $0.now = { now } }
                }
            }
        }
    }

    private static let gfz = "http://geofon.gfz.de/fdsnws/event/1/"

    @Test("An event that an agency lists as not existing is deleted until the agency lists it again")
    func notExisting() async throws {
        let codes = (1...5).map { "gfz2026aaa\($0)" }
        try await withEvents(codes, at: Self.gfz) { database, catalogue, sweep in
            #expect(try await sweep().counts.inserted == 5)
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events["gfz2026aaa2"]?.type = "not existing"
            }
            let second = try await sweep()
            #expect(second.failure == nil && second.counts.retracted == 1 && second.counts.rejected == 0)
            #expect(second.counts.seen == 4 && second.counts.unchanged == 4)
            #expect(try await database.reasons() == ["deleted by geofon.gfz.de"])

            catalogue.change { $0.now += 5 * Self.minute }
            let third = try await sweep()
            #expect(third.counts.retracted == 0 && third.tokens == nil)
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events["gfz2026aaa2"]?.type = "earthquake"
            }
            #expect(try await sweep().counts.inserted == 1)
        }
    }

    @Test(
        "A move of an origin to an earlier time is a revision, even after a newer document of another service"
    )
    func earlierOrigin() async throws {
        try await withEvents(["gfz2026aaaa"], at: Self.gfz) { database, catalogue, sweep in
            _ = try await sweep()
            let newer = Instant(milliseconds: Int64(Self.now + Self.day / 100))
            try await database.query(
                "insert into import.settled (service, feed, generated) values ('other.example', 'all_day', \(newer))"
            )
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events["gfz2026aaaa"]?.time -= 3000
            }
            let second = try await sweep()
            #expect(second.counts.updated == 1 && second.counts.stale == 0)
        }
    }

    @Test("An answer without any event deletes nothing")
    func emptyAnswer() async throws {
        try await withEvents(["gfz2026aaa1", "gfz2026aaa2"], at: Self.gfz) { database, catalogue, sweep in
            let time = Self.now - Self.minute
            catalogue.change { $0.add(TestCatalogue.Event("gfz2026aaa3", time: time, updated: time)) }
            _ = try await sweep()
            catalogue.change { state in
                state.now += 5 * Self.minute
                state.events = [:]
            }
            let empty = try await sweep()
            #expect(empty.failure == nil && empty.counts.retracted == 0)
            #expect(try await database.revised().count == 3)
        }
    }

    @Test("The brake also stops the deletion of events that an agency lists as not existing")
    func brake() async throws {
        let codes = (1...8).map { "gfz2026aaa\($0)" }
        try await withEvents(Array(codes.prefix(6)), at: Self.gfz) { database, catalogue, sweep in
            _ = try await sweep()
            catalogue.change { state in
                state.now += 5 * Self.minute
                for code in codes.prefix(6) { state.events[code]?.type = "not existing" }
            }
            let held = try await sweep()
            #expect(held.failure is BrakeHeld, "\(held)")
            #expect(try await database.revised().count == 6)
        }
    }

    @Test("An event that the NCEDC withdraws by sending zeros is deleted")
    func zeros() async throws {
        try await withEvents(["75442121", "75442122"], at: "http://service.ncedc.org/fdsnws/event/1/") {
            database, catalogue, sweep in
            _ = try await sweep()
            catalogue.change { state in
                state.now += 5 * Self.minute
                let time = state.events["75442121"]?.time ?? 0
                var zero = TestCatalogue.Event("75442121", time: time, updated: time, magnitude: 0)
                (zero.latitude, zero.longitude) = (0, 0)
                state.add(zero)
            }
            let second = try await sweep()
            #expect(second.failure == nil && second.counts.retracted == 1)
            #expect(try await database.revised().keys.sorted() == ["nc75442122"])
            #expect(try await database.reasons() == ["deleted by service.ncedc.org"])
        }
    }

    @Test("An event that gets a new id from NRCan is inserted, and the event with the old id is deleted")
    func newIDs() async throws {
        let codes = ["20260929.1159001", "20260928.1159001"]
        try await withEvents(codes, at: "http://earthquakescanada.nrcan.gc.ca/fdsnws/event/1/") {
            database, catalogue, sweep in
            _ = try await sweep()
            catalogue.change { state in
                state.now += 5 * Self.minute
                guard var event = state.events.removeValue(forKey: codes[0]) else { return }
                (event.code, event.magnitude) = ("20260929.1159002", 2.5)
                state.add(event)
            }
            let second = try await sweep()
            #expect(second.counts.inserted == 1 && second.counts.retracted == 1)
            #expect(
                try await database.revised().keys.sorted() == [
                    "nrcan:20260928.1159001", "nrcan:20260929.1159002",
                ])
            #expect(try await database.reasons() == ["retracted by sweep"])
        }
    }

    @Test(
        "If an id of EMSC moves to another earthquake, the event is revised, and the history keeps the earlier place"
    )
    func movedID() async throws {
        let catalogue = TestCatalogue(now: Self.now, knows: [.emsc, .updatedAfter])
        let service = "http://www.seismicportal.eu/fdsnws/event/1/"
        let places = [(38.9561, "SPAIN"), (38.9644, "SPAIN"), (-7.2, "BANDA SEA")]
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { catalogue.answer($0) }) { server in
                for (index, (latitude, place)) in places.enumerated() {
                    let (code, now) = ("20261003_0000060", Self.now + index * 6 * Self.minute)
                    catalogue.change { state in
                        state.now = now
                        var event = TestCatalogue.Event(
                            code, time: Self.now - (3 - index) * 9 * Self.minute, updated: state.now)
                        (event.latitude, event.place) = (latitude, place)
                        state.add(event)
                    }
                    let summary = try await database.sweep(service, through: server) {
                        $0.now = { Instant(milliseconds: Int64(now)) }
                    }
                    #expect(summary.failure == nil)
                    #expect(summary.counts.inserted + summary.counts.updated == 1)
                }
                let row = try await database.query("select code, latitude, place from quake")[0]
                #expect(try row.decode("code") == "emsc:20261003_0000060")
                #expect(try row.decode("latitude") == -7.2 && row.decode("place") == "BANDA SEA")
                let changes = try await database.query(
                    "select operation, before from history.change order by transaction")
                #expect(try changes.map { try $0.decode("operation") } == ["insert", "update", "update"])
                let before = try await database.query(
                    """
                    select array(select jsonb_object_keys(before) order by 1) as keys
                    from history.change where operation = 'update' order by transaction
                    """)
                #expect(try before[0].decode("keys") == ["latitude", "time", "updated"])
                #expect(try before[1].decode("keys") == ["latitude", "place", "time", "updated"])
            }
        }
    }

    @Test(
        "The ISC is asked for its bulletin's last months, and the error for an answer in another format names that format"
    )
    func isc() async throws {
        let isIMS = Atomic(false)
        let catalogue = TestCatalogue(now: Self.now, knows: [.text])
        let service = "http://www.isc.ac.uk/fdsnws/event/1/"
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                // The ISC's service accepts no time zone.
                if request.uri.contains("Z&") { return .whole(.badRequest, []) }
                let bulletin = "DATA_TYPE BULLETIN IMS1.0:short\nISC Bulletin\n"
                return isIMS.load(ordering: .relaxed)
                    ? .whole(.ok, Array(bulletin.utf8)) : catalogue.answer(request)
            }) { server in
                catalogue.change { state in
                    for (code, days) in [("1", 100), ("2", 230), ("3", 250)] {
                        let time = Self.now - days * Self.day
                        state.add(TestCatalogue.Event(code, time: time, updated: time))
                    }
                }
                let first = try await database.sweep(service, through: server)
                #expect(first.failure == nil && server.requests.count == 1)
                #expect(try await database.revised().keys.sorted() == ["isc:1", "isc:2"])
                isIMS.store(true, ordering: .relaxed)
                let second = try await database.sweep(service, through: server)
                #expect("\(second.failure.map { "\($0)" } ?? "")".contains("IMS1.0 text, not FDSN text"))
                #expect(try await database.revised().count == 2)
            }
        }
    }
}
