import Alerts
import Feed
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Messages about an earthquake that several agencies report")
struct AssociatedTests {
    private let server = TestServer.shared
    private let rules = Rules.from(4, to: "me")

    @Test(
        "Rows that are grouped before the first message cause one message, and a later grouping causes none")
    func once() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            // These rows are grouped before the first message.
            for code in ["us1", "gfz1"] { try await database.shake(code, 5) }
            try await database.group(["us1", "gfz1"])
            try await database.notify(rules, receivers)
            #expect(receivers.got.count == 1)
            #expect(receivers.got.first?.earthquakes.map(\.earthquake) == ["us1"])

            // A third agency's row joins later.
            try await database.shake("emsc1", 5.1)
            try await database.group(["us1", "gfz1", "emsc1"])
            try await database.notify(rules, receivers)
            #expect(receivers.got.count == 1)

            // Both rows are reported before they are grouped.
            for code in ["us2", "gfz2"] { try await database.shake(code, 5) }
            try await database.notify(rules, receivers)
            try await database.group(["us2", "gfz2"])
            try await database.notify(rules, receivers)
            #expect(receivers.got.count == 3)

            // The row that is shown is revised, and another row is deleted.
            try await database.shake("us1", 5.8)
            try await database.query("delete from quake where code = 'gfz1'")
            try await database.group(["us1", "emsc1"])
            try await database.notify(rules, receivers)
            #expect(receivers.told.suffix(1) == ["corrected us1"])
        }
    }

    /// importer:   deletes the preferred row
    /// notifier:                               still has the earthquake
    /// associator:                                                      groups the other rows
    @Test(
        "Until the associator processes the deletion of a preferred row, another row replaces the deleted one"
    )
    func preferredDeleted() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            for code in ["us1", "gfz1", "emsc1"] { try await database.shake(code, 5) }
            try await database.group(["us1", "gfz1", "emsc1"], preferred: "gfz1")
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new gfz1"])

            try await database.query("delete from quake where code = 'gfz1'")
            let event = try await database.query("select earthquake, code, magnitude from notify.event")
            #expect(try event.map { try $0.decode("earthquake") } == ["us1"])
            #expect(try event.map { try $0.decode("code") } == ["emsc1"])
            #expect(try event.map { try $0.decodeIfPresent("magnitude", as: Double.self) } == [5])
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new gfz1"])

            try await database.group(["us1", "emsc1"])
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new gfz1"])
        }
    }

    @Test(
        "An earthquake that continues without its first row is not withdrawn",
        arguments: ["a pass", "a rebuild", "no history"])
    func firstDeleted(after way: String) async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            for code in ["us1", "gfz1"] { try await database.shake(code, 5) }
            try await database.query("update quake set net = 'gfz' where code = 'gfz1'")
            try await database.associate()
            try await database.notify(rules, receivers)
            #expect(receivers.got.map(\.earthquakes[0].earthquake) == ["us1"])
            try await database.query("delete from quake where code = 'us1'")
            try await database.associate(rebuilding: way == "a rebuild")
            #expect(try await database.query("select from earthquake").isEmpty)
            if way == "no history" {
                try await database.query("update notify.state set position = null")
            }
            try await database.notify(rules, receivers)
            #expect(receivers.got.count == 1, "\(receivers.told)")
            try await database.query("delete from quake")
            try await database.notify(rules, receivers)
            #expect(receivers.told.last?.hasPrefix("withdrawn") == true)
        }
    }

    @Test("An earthquake has the largest number of stations of its rows, and is reviewed if any row is")
    func sure() async throws {
        try await server.withDatabase { database in
            try await database.shake("ingv:1", 6)
            try await database.shake("us1", 6)
            try await database.query(
                "update quake set nst = 120, status = 'Reviewed' where code = 'us1'")
            try await database.group(["ingv:1", "us1"])
            let row = try await database.query("select code, stations, status from notify.event")[0]
            #expect(try row.decode("code") == "ingv:1")
            #expect(try row.decode("stations") == 120)
            #expect(try row.decode("status") == "Reviewed")
        }
    }

    @Test("If the clock was ahead at a commit, the notifier waits for the association for 10 s at most")
    func waitsForTheFuture() async throws {
        try await server.withDatabase { database in
            let (receivers, log) = (Receivers(), RecordedLog())
            try await database.notify(rules, receivers)
            try await database.associated()
            try await database.shake("us1", 5)
            try await database.query(
                "update history.transaction set committed_at = committed_at + interval '1 day' where token = history.current_token()"
            )
            let service = try database.notifyService(RulesInForce(rules), receivers, logger: log.logger)
            async let failures = service.runOnce()
            try await waitUntil { log.lines.contains { $0.contains("waiting for the association of rows") } }
            #expect(try await failures == 0)
            #expect(receivers.told == ["new us1"])
        }
    }

    /// importer:   commits a row
    /// notifier:                 waits ─────────────── reports once
    /// associator:                       groups the row
    @Test("The notifier waits briefly for the association of new rows")
    func waits() async throws {
        try await server.withDatabase { database in
            let (receivers, log) = (Receivers(), RecordedLog())
            try await database.notify(rules, receivers)
            try await database.shake("us1", 5)
            try await database.notify(rules, receivers)
            try await database.associated()
            try await database.shake("gfz1", 5)
            let service = try database.notifyService(RulesInForce(rules), receivers, logger: log.logger)
            async let failures = service.runOnce()
            try await waitUntil { log.lines.contains { $0.contains("waiting for the association of rows") } }
            try await database.group(["us1", "gfz1"])
            try await database.associated()
            #expect(try await failures == 0)
            #expect(receivers.told == ["new us1"])

            // Without an associator, the notifier reports a row once its commit is 10 seconds old.
            try await database.shake("gfz2", 5)
            try await database.query(
                "update history.transaction set committed_at = committed_at - interval '20 seconds' where token = history.current_token()"
            )
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new us1", "new gfz2"])
        }
    }
}

extension TestDatabase {
    fileprivate func associate(rebuilding: Bool = false) async throws {
        try await withConnection { connection in
            _ = try await Associator(logger: .quiet).associate(rebuilds: rebuilding, on: connection)
        }
    }

    /// Records that an associator has processed all changes so far.
    fileprivate func associated() async throws {
        try await query("update import.association set position = history.current_token() || '_'")
    }
}
