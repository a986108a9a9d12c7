import Alerts
import Feed
import FoundationEssentials
import PostgreSQL

/// The notifier's state in the schema `notify`: its position and its ledger.
struct NotifierState: Sendable {
    var position: Position?
    /// The shape of the table at the last decision.
    var shape: String?
    var revision: Int
    /// How far the database's clock, which the decisions use, was ahead of this machine's clock when the state was read.
    let clockLead: Duration
    var ledger: Ledger

    static func read(on connection: Connection) async throws -> NotifierState {
        let operation = "read the notifier's state"
        return try await connection.transaction(.repeatableReadOnly, to: operation) {
            guard
                var row = try await connection.query(
                    """
                    select position, shape, revision, decided_at, notify.now(), paces::text
                    from notify.state
                    """, to: operation
                ).first
            else {
                throw PostgresError.noRow(in: "notify.state", operation)
            }
            let position = try row.nextText().flatMap(Position.init(word:))
            let (shape, revision) = (try row.nextText(), try row.nextInteger())
            let (decidedAt, now) = (try row.nextInstant(), try row.nextInstant())
            let paces: [String: Pace] = try row.nextText().map(decoded) ?? [:]
            return NotifierState(
                position: position, shape: shape, revision: Int(revision ?? 0),
                clockLead: now.map { $0 - .now } ?? .zero,
                ledger: Ledger(
                    decidedAt: decidedAt, standings: try await standings(on: connection), paces: paces))
        }
    }

    private static func standings(on connection: Connection) async throws -> [ExactText: [String: Standing]] {
        var standings: [ExactText: [String: Standing]] = [:]
        for row in try await connection.query(
            "select earthquake, receiver, told::text as told, waiting::text as waiting from notify.standing",
            to: "read the notifier's ledger")
        {
            let standing = Standing(
                told: try row.decodeIfPresent("told", as: String.self).map(decoded),
                waiting: try row.decodeIfPresent("waiting", as: String.self).map(decoded))
            standings[ExactText(try row.decode("earthquake")), default: [:]][try row.decode("receiver")] =
                standing
        }
        return standings
    }

    static func decoded<Value: Decodable>(_ json: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(json.utf8))
    }

    // MARK: Writing

    /// Writes the ledger's changes. Call it in the transaction that stores the messages.
    ///
    /// - Throws: `Failure` if another `quakes notify` has stored its decisions in the meantime.
    mutating func write(position: Position, shape: String, on connection: Connection) async throws {
        let count = try await connection.execute(
            """
            update notify.state
            set revision = revision + 1, decided_at = \(ledger.decidedAt), position = \(position.word), shape = \(shape),
                paces = \(try Self.json(ledger.paces))::jsonb
            where revision = \(revision)
            """, to: "store the notifier's position")
        guard count == 1 else {
            throw Failure(.busy, "another `quakes notify` has stored its decisions in the meantime")
        }
        try await writeStandings(on: connection)
        (self.position, self.shape, revision) = (position, shape, revision + 1)
    }

    private struct StoredStanding: Encodable {
        let earthquake: String
        let receiver: String
        let told: Standing.Told?
        let waiting: Standing.Waiting?
    }

    private mutating func writeStandings(on connection: Connection) async throws {
        guard !ledger.touched.isEmpty else { return }
        let operation = "store the notifier's ledger"
        let keys = ledger.touched.sorted()
        try await connection.execute(
            "delete from notify.standing where earthquake = any (\(keys.map(\.text)))", to: operation)
        let rows = keys.flatMap { key in
            ledger.standings[key, default: [:]].sorted { $0.key < $1.key }.map { receiver, standing in
                StoredStanding(
                    earthquake: key.text, receiver: receiver, told: standing.told, waiting: standing.waiting)
            }
        }
        try await connection.execute(
            """
            insert into notify.standing (earthquake, receiver, told, waiting)
            select earthquake, receiver, told, waiting
            from jsonb_to_recordset(\(try Self.json(rows))::jsonb)
                as new (earthquake text, receiver text, told jsonb, waiting jsonb)
            """, to: operation)
        ledger.touched = []
    }

    static func json(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }
}
