import Alerts
import Feed
import Foundation
import Logging
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@testable import QuakeStore

/// Records the messages that receivers get, and decides whether deliveries fail.
final class Receivers: Sendable {
    private struct State {
        var got: [Message] = []
        var attempts: [String] = []
        var failures: [String: DeliveryFailure] = [:]
    }

    private let state = Mutex(State())

    /// The messages that were delivered, in order.
    var got: [Message] { state.withLock { $0.got } }
    /// The receiver of each attempt, successful or not.
    var attempts: [String] { state.withLock { $0.attempts } }

    /// Each earthquake in the delivered messages as kind and code: for example, `new us1`.
    var told: [String] { got.flatMap { $0.earthquakes.map { "\($0.kind.word) \($0.code)" } } }

    /// From now on, deliveries to the receiver fail with `failure`, or succeed if `failure` is nil.
    func answer(_ receiver: String, _ failure: DeliveryFailure?) {
        state.withLock { $0.failures[receiver] = failure }
    }

    @Sendable func deliver(_ message: Message, _ receiver: Receiver) throws {
        try state.withLock { state in
            state.attempts.append(receiver.name)
            if let failure = state.failures[receiver.name] { throw failure }
            state.got.append(message)
        }
    }
}

extension Rules {
    /// One rule that reports every earthquake of at least this magnitude to these receivers.
    static func from(_ magnitude: Double, to receivers: String..., age: Duration = .seconds(6 * 3600))
        -> Rules
    {
        from(magnitude, to: receivers, age: age)
    }

    static func from(_ magnitude: Double, to receivers: [String], age: Duration = .seconds(6 * 3600))
        -> Rules
    {
        var rule = Rule(name: "all")
        rule.ladder = [Rule.Step(magnitude)]
        rule.receivers = receivers
        rule.maxAge = age
        let known = receivers.map { ($0, Receiver(name: $0, .command(["/bin/true"], limit: .seconds(1)))) }
        return Rules(rules: [rule], receivers: Dictionary(uniqueKeysWithValues: known))
    }
}

extension TestDatabase {
    func notifyService(
        _ rules: RulesInForce, _ receivers: Receivers, logger: Logger = .quiet
    ) throws -> NotifyService {
        NotifyService(
            try options(), rules: rules,
            poll: PollInterval(listening: .milliseconds(50)), logger: logger,
            deliver: { try receivers.deliver($0, $1) })
    }

    /// Decides on the changes so far, and makes the attempts that are due.
    func notify(_ rules: Rules, _ receivers: Receivers) async throws {
        _ = try await notifyService(RulesInForce(rules), receivers).runOnce()
    }

    /// Runs the notifier while `body` runs.
    func notifying(
        _ rules: RulesInForce, _ receivers: Receivers, logger: Logger = .quiet,
        _ body: () async throws -> Void
    ) async throws {
        try await running(notifyService(rules, receivers, logger: logger), body)
    }

    func running(_ service: NotifyService, _ body: () async throws -> Void) async throws {
        let running = Task { try await service.run() }
        do {
            try await waitUntil {
                try await query("select decided_at is not null as has_begun from notify.state")[0].decode(
                    "has_begun")
            }
            try await body()
        } catch {
            running.cancel()
            throw error
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    /// Writes an earthquake that happened a minute ago.
    func shake(_ code: String, _ magnitude: Double, ids: [String] = []) async throws {
        try await query(
            """
            insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, ids)
            values (\(code), 'us', 'x', \(magnitude), now() - interval '1 minute', now(), 139, 36, \(ids))
            on conflict (code) do update set magnitude = excluded.magnitude, ids = excluded.ids
            """)
    }

    /// From now on, decisions are made as if the time were later by `ahead`.
    func setClock(ahead: Duration) async throws {
        try await query(
            """
            create or replace function notify.now() returns timestamptz language sql volatile
            return clock_timestamp() + make_interval(secs => \(unescaped: "\(ahead / .seconds(1))"))
            """)
    }

    func givenUpMessages() async throws -> Int {
        try await query("select from notify.outbox where given_up_at is not null").count
    }

    /// Makes every message due now.
    func hastenAttempts() async throws {
        try await query(
            "update notify.outbox set next_attempt_at = clock_timestamp() where next_attempt_at is not null")
    }
}
