import Alerts
import Feed
import Logging
import PostgreSQL
import Synchronization

/// Decides which messages are sent. The notifier is a reader of the catalogue. For each decision, one transaction stores the seen
/// earthquakes, the ledger, the messages and the position. `OutboxSender` delivers the messages.
///
/// The notifier keeps the ledger of the last 30 days in memory. After an error, it reads the ledger again from the database.
public final class Notifier: ReaderView {
    private let options: ConnectionOptions
    private let rules: RulesInForce
    private let logger: Logger
    /// Whether there is only one pass. A digest of missed changes then can't wait for further changes.
    private let isOnce: Bool
    /// Called after each commit that has added messages.
    private let told: @Sendable () -> Void
    /// The state; nil while a pass uses it, and after an error.
    private let state = Mutex<NotifierState?>(nil)

    init(
        _ options: ConnectionOptions, _ rules: RulesInForce, logger: Logger, isOnce: Bool,
        told: @escaping @Sendable () -> Void
    ) {
        (self.options, self.rules, self.logger) = (options, rules, logger)
        (self.isOnce, self.told) = (isOnce, told)
    }

    public func position() async throws -> Position? {
        let read = try await Connection.with(options, logger: logger) { connection in
            try await NotifierState.read(on: connection)
        }
        state.withLock { $0 = read }
        return read.position
    }

    public func accepts(_ table: TableShape) -> Bool {
        state.withLock { $0?.shape == table.signature }
    }

    /// Whether a waiting message is due.
    public var isDue: Bool {
        state.withLock { state in
            guard let state, let due = state.ledger.nextDue else { return false }
            return due - state.clockLead <= .now
        }
    }

    public func apply(_ pass: Pass) async throws -> Position {
        let taken = state.withLock { state in
            defer { state = nil }
            return state
        }
        guard var next = consume taken else {
            throw Failure(.busy, "the notifier's state has to be read again")
        }
        do {
            try await waitForAssociation(pass.connection)
            let count = try await decide(pass, &next)
            state.withLock { [next] in $0 = next }
            if count > 0 { told() }
        } catch let mismatch as Pass.Mismatch {
            // Nothing was decided, so the state is still valid. The reader makes another pass.
            state.withLock { [next] in $0 = next }
            throw mismatch
        }
        guard let position = next.position else { throw RowError.other }
        return position
    }

    /// Waits until the associator has processed the new rows, but no longer than 10 s, and not for rows that were committed more
    /// than 10 s ago. If the associator has never run, the function does not wait.
    private func waitForAssociation(_ connection: Connection) async throws {
        var isSaid = false
        let end = ContinuousClock.now + .seconds(10)
        while .now < end, try await isAssociating(connection) {
            if !isSaid { logger.debug("waiting for the association of rows") }
            isSaid = true
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func isAssociating(_ connection: Connection) async throws -> Bool {
        try await connection.query(
            """
            select exists (
                select from import.association cross join lateral (
                    select t.committed_at from history.transaction t
                    where t.token > split_part(association.position, '_', 1)::bigint and t.context is distinct from \(Associator.context)
                    order by t.token limit 1) as first
                where first.committed_at >= clock_timestamp() - interval '10 seconds') as is_associating
            """, to: "check the association's position")[0].decode("is_associating")
    }

    /// - Returns: how many messages were added.
    private func decide(_ pass: Pass, _ state: inout NotifierState) async throws -> Int {
        let connection = pass.connection
        let operation = "decide which messages are sent"
        return try await connection.transaction(
            .repeatableRead, with: CatalogueState.lookUps, holding: "public.quake", to: operation
        ) {
            let position = try await pass.begin()
            let now: Instant = try await connection.query("select notify.now() as now", to: operation)[0]
                .decode("now")
            let oldest = now - SeenEvents.reach
            let changes = try await EventChange.all(
                after: pass.freshStart == nil ? pass.after : nil, from: oldest, on: connection)
            let isHourly = state.ledger.isFirst(ofHour: now)
            let messages = rules.current.decide(
                changes, &state.ledger, now: now, gathering: isOnce ? .zero : Rules.gathering)
            try await SeenEvents.replace(changes, from: oldest, on: connection)
            try await Outbox.append(messages, on: connection)
            if isHourly {
                try await SeenEvents.forget(before: oldest, on: connection)
                try await Outbox.forget(on: connection)
            }
            try await state.write(position: position, shape: pass.table.signature, on: connection)
            return messages.count
        }
    }
}

/// The current rules. They may be replaced at any time; the next decision follows the new rules.
public final class RulesInForce: Sendable {
    private let rules: Mutex<Rules>

    public init(_ rules: Rules) {
        self.rules = Mutex(rules)
    }

    public var current: Rules { rules.withLock { $0 } }

    public func replace(by new: Rules) { rules.withLock { $0 = new } }
}
