import Alerts
import Feed
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import QuakeStore

@Suite("Deliveries")
struct OutboxTests {
    private let server = TestServer.shared

    /// Runs `body` with a message about the earthquake `a` whose first attempt has failed. Further attempts fail, too.
    private func withFailedMessage(
        _ failure: DeliveryFailure = DeliveryFailure("no"),
        _ body: (TestDatabase, Receivers, Rules) async throws -> Void
    ) async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me"))
            try await database.notify(rules, receivers)
            receivers.answer("me", failure)
            try await database.shake("a", 5)
            try await database.notify(rules, receivers)
            try await body(database, receivers, rules)
        }
    }

    @Test(
        "A message that fails is sent again under the same id, and the status shows why it fails and since when"
    )
    func again() async throws {
        try await withFailedMessage(DeliveryFailure("host: HTTP status 503")) { database, receivers, rules in
            try await database.query("update notify.outbox set next_attempt_at = now() + interval '1 hour'")
            try await database.notify(rules, receivers)
            #expect(receivers.attempts.count == 1)
            let failing = try await database.withConnection { try await NotifyStatus.read(on: $0) }.receivers[
                0]
            #expect(failing.waiting == 1 && failing.reason == "host: HTTP status 503")
            #expect(failing.failingSince != nil && failing.deliveredAt == nil)

            try await database.hastenAttempts()
            try await database.notify(rules, receivers)
            #expect(receivers.attempts.count == 2)
            receivers.answer("me", nil)
            try await database.hastenAttempts()
            for _ in 0..<2 { try await database.notify(rules, receivers) }
            #expect(receivers.got.map(\.id) == ["me:a:1-new"])
            let done = try await database.withConnection { try await NotifyStatus.read(on: $0) }.receivers[0]
            #expect(done.waiting == 0 && done.failing == nil && done.reason == nil && done.givenUp == 0)
        }
    }

    @Test("After ten attempts, a message is given up, but not deleted")
    func givenUp() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me"))
            try await database.notify(rules, receivers)
            receivers.answer("me", DeliveryFailure("host: no connection"))
            try await database.shake("a", 5)
            for _ in 0..<12 {
                try await database.notify(rules, receivers)
                try await database.hastenAttempts()
            }
            #expect(receivers.attempts.count == AttemptSchedule.attempts)
            let status = try await database.withConnection { try await NotifyStatus.read(on: $0) }.receivers[
                0]
            #expect(status.givenUp == 1 && status.waiting == 0 && status.reason == "host: no connection")
            let told = try await database.withConnection { try await ToldMessage.latest(1, on: $0) }
            guard case .givenUp(_, let reason)? = told.first?.state else {
                Issue.record("the message was not given up")
                return
            }
            #expect(reason == "host: no connection" && told[0].attempts == AttemptSchedule.attempts)
        }
    }

    @Test("Messages about one earthquake keep their order, and do not delay messages about other earthquakes")
    func order() async throws {
        try await withFailedMessage { database, receivers, rules in
            receivers.answer("me", nil)
            // The first message waits for its next attempt, and the correction waits with it, until another message is delivered.
            try await database.query("update notify.outbox set next_attempt_at = now() + interval '1 hour'")
            try await database.shake("a", 6)
            try await database.notify(rules, receivers)
            #expect(receivers.told == [])
            try await database.shake("b", 5)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new b", "new a", "corrected a"])
        }
    }

    @Test("Messages about an earthquake keep their order if its code changes")
    func orderAcrossCodes() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me"))
            try await database.notify(rules, receivers)
            try await database.shake("a", 5)
            try await database.notify(rules, receivers)
            receivers.answer("me", DeliveryFailure("no"))
            try await database.shake("a", 6)
            try await database.notify(rules, receivers)
            receivers.answer("me", nil)
            try await database.query(
                "update notify.outbox set next_attempt_at = now() + interval '1 hour' where delivered_at is null"
            )
            try await database.shake("b", 6, ids: ["a", "b"])
            try await database.withConnection { connection in
                try await connection.execute(
                    script:
                        "begin; set local history.reason = 'superseded by b'; delete from quake where code = 'a'; commit",
                    to: "rename it")
            }
            try await database.notify(rules, receivers)
            try await database.query("delete from quake where code = 'b'")
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a"])
            try await database.hastenAttempts()
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a", "corrected a", "withdrawn a"])
        }
    }

    @Test(
        "A failing receiver gets one attempt, not one for each waiting message, and delays no other receiver"
    )
    func rests() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "away", "me"))
            try await database.notify(rules, receivers)
            receivers.answer("away", DeliveryFailure("no"))
            for number in 1...5 { try await database.shake("q\(number)", 5) }
            try await database.notify(rules, receivers)
            #expect(receivers.attempts.filter { $0 == "away" }.count == 1)
            #expect(receivers.attempts.filter { $0 == "me" }.count == 5)
        }
    }

    @Test("While the database can't be written, nothing is delivered, because no delivery could be recorded")
    func fullDisk() async throws {
        try await withFailedMessage { database, receivers, rules in
            receivers.answer("me", nil)
            try await database.execute(
                """
                update notify.outbox set next_attempt_at = now();
                create function full_disk() returns trigger language plpgsql as $$
                begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$;
                create trigger full_disk before update on notify.outbox for each row execute function full_disk()
                """)
            for _ in 1...3 {
                await #expect(throws: PostgresError.self) { try await database.notify(rules, receivers) }
            }
            #expect(receivers.attempts == ["me"])
            try await database.execute("drop trigger full_disk on notify.outbox")
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new a"])
        }
    }

    @Test("After a delivery, the messages that failed since the delivery before it are sent at once")
    func reachable() async throws {
        try await withFailedMessage { database, receivers, rules in
            try await database.query("update notify.outbox set next_attempt_at = now() + interval '1 day'")
            receivers.answer("me", nil)
            try await database.shake("b", 5)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new b", "new a"])

            // A message that failed before the last delivery waits for its own next attempt.
            receivers.answer("me", DeliveryFailure("no"))
            try await database.shake("c", 5)
            try await database.notify(rules, receivers)
            try await database.query(
                """
                update notify.outbox set next_attempt_at = now() + interval '1 day', failed_at = now() - interval '1 hour'
                where next_attempt_at is not null
                """)
            receivers.answer("me", nil)
            try await database.shake("d", 5)
            try await database.notify(rules, receivers)
            #expect(receivers.told == ["new b", "new a", "new d"])
        }
    }

    @Test(
        "When the server's clock is set back, a message is attempted at once, and waits as usual afterwards")
    func clockSetBack() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me"))
            try await database.notify(rules, receivers)
            // A message that was delivered before the clock was set back.
            try await database.shake("earlier", 5)
            try await database.notify(rules, receivers)
            receivers.answer("me", DeliveryFailure("no"))
            try await database.shake("a", 5)
            try await database.notify(rules, receivers)
            try await database.query("update notify.outbox set created_at = now() + interval '1 day'")
            try await database.query(
                """
                update notify.outbox set next_attempt_at = now() + interval '1 day' where next_attempt_at is not null
                """)
            for _ in 0..<3 { try await database.notify(rules, receivers) }
            #expect(receivers.attempts.count == 3)
        }
    }

    @Test("Mails that wait for a mail server delay neither a webhook nor a command")
    func lanes() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            let mails = (0..<40).map { "mail\($0)" }
            let mailServer = MailServer(url: "smtp://127.0.0.1:25", from: "quakes@example.org")
            let all =
                mails.map { Receiver(name: $0, .email("\($0)@example.org", via: mailServer)) }
                + [
                    Receiver(
                        name: "web", .webhook(url: .plain("https://example.org"), secret: nil, body: .text)),
                    Receiver(name: "siren", .command(["/bin/true"], limit: .seconds(1))),
                ]
            let rules = Rules(
                rules: Rules.from(4, to: all.map(\.name)).rules,
                receivers: Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) }))
            try await database.notify(rules, receivers)
            try await database.shake("a", 5)
            let service = NotifyService(
                try database.options(), rules: RulesInForce(rules), logger: .quiet
            ) { message, receiver in
                // The mails wait for the webhook and the command.
                while receiver.name.hasPrefix("mail"),
                    !Set(receivers.attempts).isSuperset(of: ["web", "siren"])
                {
                    try await Task.sleep(for: .milliseconds(20))
                }
                try receivers.deliver(message, receiver)
            }
            #expect(try await service.runOnce() == 0)
            #expect(receivers.got.count == 42)
        }
    }

    @Test("Each of many receivers gets its message once, even if many others fail")
    func many() async throws {
        try await server.withDatabase { database in
            let names = (0..<500).map { "r\($0)" }
            let (receivers, rules) = (Receivers(), Rules.from(4, to: names))
            try await database.notify(rules, receivers)
            let failing = Set(names.prefix(100))
            for name in failing { receivers.answer(name, DeliveryFailure("no")) }
            try await database.shake("a", 5)
            try await database.notify(rules, receivers)
            // On a slow machine, some of the failing receivers are due again before all others have their messages.
            #expect(failing.isSubset(of: receivers.attempts))
            let others = receivers.attempts.filter { !failing.contains($0) }
            #expect(others.sorted() == names.dropFirst(100).sorted())
            #expect(receivers.got.count == 400)
        }
    }

    @Test("A receiver that refuses all further messages gets none until the rules change")
    func gone() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(.from(4, to: "me"), receivers)
            receivers.answer("me", DeliveryFailure("host: HTTP status 410", isFinal: true, isGone: true))
            let inForce = RulesInForce(.from(4, to: "me"))
            try await database.notifying(inForce, receivers) {
                for code in ["a", "b"] { try await database.shake(code, 5) }
                try await waitUntil { try await database.givenUpMessages() == 2 }
                try await database.shake("c", 5)
                try await waitUntil { try await database.givenUpMessages() == 3 }
                #expect(receivers.attempts.count == 1)
                receivers.answer("me", nil)
                inForce.replace(by: .from(3.9, to: "me"))
                try await database.shake("d", 5)
                try await waitUntil { receivers.told == ["new d"] }
            }
        }
    }

    @Test(
        "A receiver that the rules change gets its failed messages at once; those of a removed receiver are given up"
    )
    func changed() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(.from(4, to: "me", "you"), receivers)
            for name in ["me", "you"] {
                receivers.answer(name, DeliveryFailure("host: HTTP status 429", retryAfter: .seconds(3600)))
            }
            let inForce = RulesInForce(.from(4, to: "me", "you"))
            try await database.notifying(inForce, receivers) {
                try await database.shake("a", 5)
                try await waitUntil {
                    try await database.query("select from notify.outbox where failed_at is not null").count
                        == 2
                }
                receivers.answer("me", nil)
                var rules = Rules.from(4, to: "me")
                rules.receivers["me"] = Receiver(name: "me", .command(["/bin/echo"], limit: .seconds(1)))
                inForce.replace(by: rules)
                try await waitUntil { receivers.told == ["new a"] }
                try await waitUntil { try await database.givenUpMessages() == 1 }
            }
        }
    }

    /// delivery: begins ───────────────────────────── the old address answers 410
    /// rules:            give the receiver a new address
    @Test("A delivery that fails after its receiver was changed is repeated at once, at the new address")
    func changedMeanwhile() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            let inForce = RulesInForce(.from(4, to: "me"))
            try await database.notify(.from(4, to: "me"), receivers)
            let old = try #require(inForce.current.receivers["me"])
            let service = NotifyService(
                try database.options(), rules: inForce, poll: PollInterval(listening: .milliseconds(50)),
                logger: .quiet
            ) { message, receiver in
                if receiver == old {
                    var rules = Rules.from(4, to: "me")
                    rules.receivers["me"] = Receiver(name: "me", .command(["/bin/echo"], limit: .seconds(1)))
                    inForce.replace(by: rules)
                    throw DeliveryFailure("host: HTTP status 410", isFinal: true, isGone: true)
                }
                try receivers.deliver(message, receiver)
            }
            try await database.running(service) {
                try await database.shake("a", 5)
                try await waitUntil { receivers.told == ["new a"] }
                #expect(try await database.givenUpMessages() == 0)
            }
        }
    }

    @Test("While the database is unavailable, the notifier logs each reason once")
    func unavailable() async throws {
        let (port, log) = (try ClosingPort(), RecordedLog())
        let service = NotifyService(
            try ConnectionOptions(port.url), rules: RulesInForce(.from(4, to: "me")), logger: log.logger
        ) { _, _ in }
        let running = Task { try await service.run() }
        try await waitUntil { port.attempts >= 4 }
        running.cancel()
        _ = await running.result
        #expect(
            log.lines.count == 1 && log.lines[0].hasSuffix("trying again until it succeeds"), "\(log.lines)")
    }

    @Test("Messages for a receiver that the rules no longer name are given up with that reason")
    func unknown() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(.from(4, to: "me"), receivers)
            receivers.answer("me", DeliveryFailure("no"))
            try await database.shake("a", 5)
            try await database.notify(.from(4, to: "me"), receivers)
            try await database.hastenAttempts()
            try await database.notify(.from(4, to: "you"), receivers)
            let rows = try await database.query(
                "select reason from notify.outbox where given_up_at is not null")
            let reasons: [String] = try rows.map { try $0.decode("reason") }
            #expect(reasons == ["the rules contain no receiver with this name"])
        }
    }

    @Test(
        "Messages that are older than three days are given up only if their receiver has failed for three days"
    )
    func patience() async throws {
        try await server.withDatabase { database in
            let (receivers, rules) = (Receivers(), Rules.from(4, to: "me"))
            try await database.notify(rules, receivers)
            receivers.answer("me", DeliveryFailure("no"))
            for number in 1...5 { try await database.shake("q\(number)", 5) }
            try await database.notify(rules, receivers)
            // The machine was off for four days, or the receiver has failed for four days.
            for (column, givenUp) in [("created_at", 0), ("failed_at", 5)] {
                try await database.query(
                    "update notify.outbox set \(unescaped: column) = \(unescaped: column) - interval '4 days'"
                )
                try await database.shake("after \(column)", 5)
                try await database.hastenAttempts()
                try await database.query(
                    "update notify.outbox set failed_at = null where \(column == "created_at")")
                try await database.notify(rules, receivers)
                let status = try await database.withConnection { try await NotifyStatus.read(on: $0) }
                #expect(status.receivers[0].givenUp == givenUp)
            }
            #expect(receivers.attempts.count == 3)
        }
    }
}

@Suite("A running notifier")
struct NotifyServiceTests {
    private let server = TestServer.shared
    private let rules = Rules.from(4, to: "me")

    @Test("A notifier that loses all its connections misses no commit, and makes no decision twice")
    func connections() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notifying(RulesInForce(rules), receivers) {
                for number in 1...5 {
                    try await database.shake("q\(number)", 5)
                    if number.isMultiple(of: 2) { _ = try await database.otherSessions(ending: true) }
                    try await waitUntil { receivers.told.contains("new q\(number)") }
                }
            }
            // A delivery that could not be recorded is repeated, but a decision is not.
            #expect(Set(receivers.told) == Set((1...5).map { "new q\($0)" }))
            #expect(Set(receivers.got.map(\.id)).count == 5)
            #expect(try await database.query("select from notify.outbox").count == 5)
        }
    }

    @Test("Only one notifier can run for each database")
    func single() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notifying(RulesInForce(rules), receivers) {
                await #expect(throws: Failure.notifierBusy) { try await database.notify(rules, receivers) }
                await #expect(throws: Failure.notifierBusy) {
                    try await database.notifyService(RulesInForce(rules), receivers).run()
                }
            }
            try await database.notify(rules, receivers)
        }
    }

    /// one:   decides ────────── decides (refused, reads again)
    /// other:           decides
    @Test("A notifier reads its state again if another notifier has changed it")
    func overtaken() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notifying(RulesInForce(rules), receivers) {
                try await database.query("update notify.state set revision = revision + 1")
                try await database.shake("a", 5)
                try await waitUntil { !receivers.got.isEmpty }
                try await database.shake("b", 5)
                try await waitUntil { receivers.got.count == 2 }
            }
            #expect(receivers.told == ["new a", "new b"])
        }
    }

    @Test("A pass of many rows reports the right number of earthquakes, and remembers only recent rows")
    func large() async throws {
        try await server.withDatabase { database in
            let receivers = Receivers()
            try await database.notify(rules, receivers)
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'old' || i, 'us', i::text, 5, now() - interval '90 days', now(), 0, 0 from generate_series(1, 20000) as i
                """)
            try await database.query(
                """
                insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude)
                select 'new' || i, 'us', i::text, 3 + (i % 2), now(), now(), 0, 0 from generate_series(1, 200) as i
                """)
            try await database.notify(rules, receivers)
            #expect(try await database.query("select from notify.seen").count == 200)
            try await database.setClock(ahead: .seconds(400))
            try await database.notify(rules, receivers)
            let told = receivers.got.map { $0.earthquakes.count + $0.omitted }.reduce(0, +)
            #expect(told == 100)
        }
    }
}
