/// What documents leave in the table, by the decision table of `migrations/0004_settling.sql`: written from that table
/// alone, for documents in the order in which they were made. Minutes since 1970.
struct StatementOracle {
    /// An event as one document lists it.
    typealias Version = Event

    private var rows: [String: Version] = [:]

    /// The events, by code, in the words of `TestDatabase.rows`.
    var table: [String: String] { rows.mapValues(\.row) }

    static func table(after statements: some Collection<Statement>) -> [String: String] {
        var oracle = StatementOracle()
        for made in Set(statements.map(\.made)).sorted() {
            oracle.take(statements.filter { $0.made == made }.sorted { $0.feed < $1.feed })
        }
        return oracle.table
    }

    /// Takes what was stated at one moment: first who is there, then who is gone.
    private mutating func take(_ statements: [Statement]) {
        for statement in statements {
            for version in statement.events where !version.isBroken {
                if let row = rows[version.code], row.updated > version.updated { continue }
                rows[version.code] = version
            }
        }
        for statement in statements { remove(by: statement) }
    }

    private mutating func remove(by statement: Statement) {
        let held = Set(statement.events.map(\.code))
        for version in statement.events where !version.isBroken {
            for code in version.ids where !held.contains(code) {
                guard let row = rows[code], row.host == statement.service, abs(row.time - version.time) <= 5,
                    row.updated <= statement.made
                else { continue }
                rows[code] = nil
            }
        }
        if let period = statement.period {
            rows = rows.filter { code, row in
                held.contains(code) || row.host != statement.service
                    || row.time <= statement.made - period + 1 || row.time >= statement.made - 1
                    || row.updated >= statement.made - 5
            }
        }
        for (code, deleted) in statement.deletions {
            if let row = rows[code], row.host == statement.service, row.updated < deleted { rows[code] = nil }
        }
    }
}

/// What one service states at one moment: a document of a feed, or what it has deleted.
struct Statement: Sendable, CustomStringConvertible {
    var service = Event.host
    let feed: String
    let made: Int
    var events: [Event] = []
    var deletions: [String: Int] = [:]

    /// How many minutes the document is complete for.
    var period: Int? { ["all_hour": 60, "all_day": 1440, "all_week": 10_080][feed] }

    var description: String { "\(service)/\(feed)@\(made)" }
}

extension Event {
    /// What the table has of it.
    var row: String { "\(updated), \(time), \(felt.map(String.init) ?? "-"), \(host)" }
}
