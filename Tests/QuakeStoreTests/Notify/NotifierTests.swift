import Alerts
import Feed
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Decisions of the notifier")
struct NotifierTests {
    private let server = TestServer.shared
    private let rules = Rules.from(4, to: "me")

    @Test("Earthquakes that exist at the first start are not reported; later changes are reported once")
    func once() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.shake("old", 6)
            try await database.shake("small", 3)
            try await database.notify(rules, receivers)
            #expect(receivers.told == [])

            try await database.shake("new", 5)
            try await database.shake("small", 4.5)
            for _ in 0..<3 { try await database.notify(rules, receivers) }
            #expect(receivers.told == ["new new", "risen small"])

            try await database.shake("new", 5.5)
            try await database.notify(rules, receivers)
            try await database.shake("new", 3)
            try await database.query("delete from quake where code = 'small'")
            try await database.query("delete from quake where code = 'old'")
            for _ in 0..<3 { try await database.notify(rules, receivers) }
            #expect(
                receivers.told == [
                    "new new", "risen small", "corrected new", "withdrawn small", "no longer new",
                ])
            #expect(Set(receivers.got.map(\.id)).count == receivers.got.count)
        }
    }

    @Test("An earthquake whose code changes is not reported as a new one")
    func renamed() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.shake("us1", 5)
            try await database.notify(rules, receivers)
            try await database.withConnection { connection in
                try await connection.execute(
                    script: """
                        begin; set local history.reason = 'superseded by ak1'; delete from quake where code = 'us1';
                        insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, ids)
                        values ('ak1', 'ak', '1', 5.1, now(), now(), 139, 36, '{ak1,us1}'); commit
                        """, to: "rename it")
            }
            try await database.notify(rules, receivers)
            try await database.shake("ak1", 5.8, ids: ["ak1", "us1"])
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new us1", "corrected ak1"])
            #expect(receivers.got[1].thread == receivers.got[0].id)
        }
    }

    @Test(
        "After several renames while the notifier was down, the report goes on; if the last event was deleted, it is withdrawn",
        arguments: [false, true])
    func renamedTwice(isDeleted: Bool) async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.shake("us1", 5)
            try await database.notify(rules, receivers)
            for (old, new) in [("us1", "ak1"), ("ak1", "ci1")] {
                try await database.execute(
                    """
                    begin; set local history.reason = 'superseded by \(new)'; delete from quake where code = '\(old)';
                    insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                    values ('\(new)', 'xx', '1', 5.1, now(), now(), 139, 36); commit
                    """)
            }
            if isDeleted { try await database.query("delete from quake where code = 'ci1'") }
            try await database.notify(rules, receivers)
            try await database.query("update quake set magnitude = 5.8")
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new us1", isDeleted ? "withdrawn us1" : "corrected ci1"])
        }
    }

    @Test("An earthquake that was revised while the notifier was down is reported")
    func revisedMeanwhile() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me", age: .seconds(3600)))
            try await database.notify(rules, receivers)
            try await database.shake("us1", 5)
            try await database.query("update quake set time = now() - interval '2 hours'")
            try await database.query(
                "update history.transaction set committed_at = committed_at - interval '115 minutes'")
            try await database.shake("us1", 5.1)
            try await database.notify(rules, receivers)
            try await database.setClock(ahead: .seconds(120))
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new us1"])
        }
    }

    /// A decision writes its position, what it reported and its messages in one transaction.
    @Test("A decision that fails writes nothing, and is made again")
    func failure() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.query(
                """
                create function refuse() returns trigger language plpgsql as $$
                begin raise exception 'no' using errcode = 'disk_full'; end $$
                """)
            try await database.query(
                "create trigger refuse before update on notify.state for each row execute function refuse()")
            try await database.shake("a", 5)
            await #expect(throws: PostgresError.self) { try await database.notify(rules, receivers) }
            #expect(try await database.query("select from notify.outbox").isEmpty)
            #expect(try await database.query("select from notify.standing").isEmpty)
            #expect(try await database.query("select from notify.seen").isEmpty)
            try await database.query("drop trigger refuse on notify.state")
            for _ in 0..<2 { try await database.notify(rules, receivers) }
            #expect(receivers.told == ["new a"])
        }
    }

    @Test("A running notifier waits while its tables are missing, as in the middle of a restore")
    func missingTables() async throws {
        try await server.withDatabase { database in
            let (receivers, log) = (Receivers(), RecordedLog())
            try await database.notifying(RulesInForce(rules), receivers, logger: log.logger) {
                try await database.query("alter table notify.outbox rename to outbox_hidden")
                try await database.shake("us1", 5)
                try await waitUntil { log.lines.contains { $0.contains("trying again until it succeeds") } }
                try await database.query("alter table notify.outbox_hidden rename to outbox")
                try await waitUntil { receivers.told == ["new us1"] }
            }
        }
    }

    @Test(
        "If changes are pruned before the notifier reads them, nothing is missed and nothing is reported twice"
    )
    func pruned() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            for (code, magnitude) in [("old", 5.0), ("grows", 3), ("stays", 5)] {
                try await database.shake(code, magnitude)
            }
            try await database.notify(rules, receivers)
            try await database.shake("told", 5)
            try await database.shake("renamed", 5)
            try await database.notify(rules, receivers)
            #expect(receivers.told.count == 2)

            try await database.shake("new", 5)
            try await database.shake("grows", 4.5)
            try await database.query("delete from quake where code in ('told', 'renamed')")
            try await database.shake("other", 5, ids: ["other", "renamed"])
            try await database.query("update history.reader set seen_at = seen_at - interval '2 days'")
            try await database.query("select history.prune('0')")
            for _ in 0..<2 { try await database.notify(rules, receivers) }
            #expect(Set(receivers.told.dropFirst(2)) == ["new new", "risen grows", "withdrawn told"])
            #expect(receivers.told.count == 5)
        }
    }

    @Test("Altering the table causes messages only about rows whose magnitude changed by enough")
    func altered() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.shake("a", 3)
            try await database.notify(rules, receivers)
            try await database.shake("b", 5)
            try await database.notify(rules, receivers)
            // ALTER TABLE may change rows like this: without a change in the history.
            func alter(_ column: String, adding magnitude: Double) async throws {
                try await database.execute(
                    """
                    alter table quake add column \(column) text default 'x'; set session_replication_role = replica;
                    update quake set magnitude = magnitude + \(magnitude)
                    """)
            }
            try await alter("one", adding: 0.2)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new b"])
            try await alter("two", adding: 1)
            try await database.notify(rules, receivers)
            #expect(Set(receivers.told) == ["new b", "risen a", "corrected b"])
        }
    }

    @Test("A restored copy reports only changes after the backup, under the same ids as the original")
    func restored() async throws {
        try await server.withDatabase { database in
            let (receivers, again) = (Receivers(), Receivers())
            try await database.notify(rules, receivers)
            try await database.shake("before", 5)
            try await database.notify(rules, receivers)
            try await server.withCopy(of: database) { copy in
                for each in [(database, receivers), (copy, again)] {
                    try await each.0.shake("after", 5)
                    try await each.0.shake("before", 6)
                    try await each.0.notify(rules, each.1)
                }
            }
            #expect(again.got.map(\.id).sorted() == receivers.got.dropFirst().map(\.id).sorted())
            #expect(again.told.count == 2)
        }
    }

    @Test("A change of the rules causes no message about an earthquake that is already known")
    func changedRules() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.shake("a", 5)
            try await database.shake("b", 3)
            try await database.notify(rules, receivers)
            for magnitude in [2.0, 6, 4] { try await database.notify(.from(magnitude, to: "me"), receivers) }
            #expect(receivers.told == ["new a"])
            try await database.shake("b", 4.2)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a", "risen b"])
        }
    }

    @Test("After five messages, further earthquakes wait for a digest, which is sent when it is due")
    func digest() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            for number in 1...8 {
                try await database.shake("q\(number)", 5)
                try await database.notify(rules, receivers)
            }
            #expect(receivers.got.count == 5)
            let held = try await database.withConnection { try await NotifyStatus.read(on: $0) }
            #expect(held.receivers.map(\.held) == [3])
            try await database.setClock(ahead: .seconds(400))
            try await database.notify(rules, receivers)
            #expect(receivers.got.count == 6)
            #expect(receivers.got.last?.type == "earthquakes.digest")
            #expect(receivers.told.count == 8)
        }
    }

    @Test("A notifier that runs once a day reports the earthquakes since its last run in one digest")
    func daily() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me", age: .seconds(2 * 86_400)))
            try await database.notify(rules, receivers)
            for code in ["a", "b"] { try await database.shake(code, 5) }
            try await database.setClock(ahead: .seconds(86_400))
            try await database.notify(rules, receivers)
            #expect(receivers.got.map(\.type) == ["earthquakes.digest"])
        }
    }

    @Test("Old rows about seen earthquakes, reported earthquakes and deliveries are deleted")
    func forgotten() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.shake("a", 5)
            try await database.notify(rules, receivers)
            for table in ["seen", "standing", "outbox"] {
                #expect(try await database.query("select from notify.\(unescaped: table)").count == 1)
            }
            try await database.query("update notify.outbox set created_at = created_at - interval '70 days'")
            try await database.setClock(ahead: .seconds(70 * 86_400))
            try await database.shake("b", 1)
            try await database.notify(rules, receivers)
            for table in ["seen", "standing", "outbox"] {
                #expect(
                    try await database.query("select from notify.\(unescaped: table)").isEmpty, "\(table)")
            }
            #expect(receivers.told == ["new a"])
        }
    }

    @Test("Nulls and line breaks that were written in SQL cause neither errors nor wrong messages")
    func strangeValues() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.shake("a", 5)
            try await database.query(
                "update quake set place = E'a\\nb', ids = null where code = 'a'")
            try await database.shake("b", 1)
            try await database.query("update quake set magnitude = null where code = 'b'")
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a"])
            try await database.shake("b", 5)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a", "risen b"])
        }
    }

    @Test(
        "A notifier's login can notify, and the logins of readers and writers can see the state of deliveries"
    )
    func roles() async throws {
        try await server.withRoles { roles in
            let (notifier, receivers) = (roles.login(.notifier), Receivers())
            try await notifier.notify(rules, receivers)
            try await roles.database.shake("a", 5)
            try await notifier.notify(rules, receivers)
            #expect(receivers.told == ["new a"])
            let told = try await notifier.withConnection { try await ToldMessage.latest(nil, on: $0) }
            #expect(told.map(\.message.id) == ["me:a:1-new"])
            let preview = try await notifier.withConnection { try await NotifyPreview.read(rules, on: $0) }
            #expect(preview.rules.map(\.messages) == [1])
            for purpose in [Roles.Purpose.reader, .writer] {
                let status = try await roles.login(purpose).withConnection {
                    try await NotifyStatus.read(on: $0)
                }
                #expect(status.receivers.map(\.name) == ["me"])
            }
            // The notifier is a named reader, so `quakes status` and pruning know about it.
            let readers = try await roles.database.query("select name, login from history.reader")
            #expect(try readers.map { try $0.decode("name", as: String.self) } == [NotifyService.readerName])
        }
    }
}
