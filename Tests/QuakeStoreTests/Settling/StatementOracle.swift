/// What documents leave in the table, according to the decision table in `migrations/0004_settling.sql`. The oracle was written
/// from that decision table alone, and takes documents in the order in which they were made. Times are in minutes since 1970.
///
/// There is one row or none for each code, as long as no service goes back to an earlier revision. If a service does, the table
/// keeps the later revision, and only a table that had the earlier revision first knows what that revision said. `Outcomes` has
/// the rows of both tables.
struct StatementOracle {
    private var events: [String: Outcomes] = [:]

    /// The rows that each code may have, in the format of `TestDatabase.rows`.
    static func table(after statements: some Collection<Statement>) -> [String: Set<String>] {
        var oracle = StatementOracle()
        for made in Set(statements.map(\.made)).sorted() {
            oracle.take(statements.filter { $0.made == made }.sorted { $0.feed < $1.feed })
        }
        return oracle.events.mapValues { Set($0.rows.map { $0?.row ?? Event.absent }) }
    }

    /// Takes the statements of one moment: first the events that are listed, then those that are gone.
    private mutating func take(_ statements: [Statement]) {
        for statement in statements {
            for version in statement.events where !version.isBroken {
                events[version.code, default: Outcomes()].list(version)
            }
        }
        for statement in statements { remove(by: statement) }
    }

    private mutating func remove(by statement: Statement) {
        let held = Set(statement.events.map(\.code))
        for version in statement.events where !version.isBroken {
            guard let heir = events[version.code] else { continue }
            for code in version.ids where !held.contains(code) {
                // If the listing event may have another revision, it is not certain that the listed event is gone.
                events[code]?.remove(ifSure: heir.rows == [version]) { row in
                    row.host == statement.service && abs(row.time - version.time) <= 5
                        && row.updated <= statement.made
                }
            }
        }
        if let period = statement.period {
            for code in events.keys where !held.contains(code) {
                events[code]?.remove { row in
                    row.host == statement.service && row.time > statement.made - period + 1
                        && row.time < statement.made - 1 && row.updated < statement.made - 5
                }
            }
        }
        for (code, deleted) in statement.deletions {
            events[code]?.remove { $0.host == statement.service && $0.updated < deleted }
        }
    }
}

/// The rows that an event may have; nil stands for no row.
private struct Outcomes {
    private(set) var rows: Set<Event?> = [nil]
    private var listed: Set<Event> = []
    /// The version that was stated last, if it is earlier than a row.
    private var earlier: Event?

    /// Keeps the later revision. Of two versions with the same time, the one that is stated later is kept.
    ///
    /// A revision later than the listed one may reach the table after this statement. So that revision may be there again after
    /// it was gone. Of two versions with the same time, this is also true for the one that was stated earlier.
    mutating func list(_ version: Event) {
        earlier = rows.contains { $0 != nil && $0!.updated > version.updated } ? version : nil
        rows = rows.reduce(into: []) { rows, row in
            let kept = row.map { $0.updated > version.updated ? $0 : version } ?? version
            rows.insert(kept)
            rows.formUnion(
                listed.filter { $0.updated > version.updated && $0.updated >= kept.updated })
        }
        listed.insert(version)
    }

    /// - Parameter ifSure: whether the evidence that the event is gone exists in any case.
    mutating func remove(ifSure isSure: Bool = true, _ isGone: (Event) -> Bool) {
        let remaining = rows.map { row in row.flatMap { isGone($0) ? nil : $0 } }
        // A table without the later revision loses the earlier one, and what that one said.
        let mayBeGone = earlier.map(isGone) ?? false
        rows = Set(remaining).union(isSure ? [] : rows).union(mayBeGone ? [nil] : [])
    }
}

/// What one service states at one moment: a document of a feed, or a sweep with its deletions.
struct Statement: Sendable, CustomStringConvertible {
    var service = Event.host
    let feed: String
    let made: Int
    var events: [Event] = []
    var deletions: [String: Int] = [:]

    /// For how many minutes before it was made the document is complete; nil if it is not complete.
    var period: Int? { ["all_hour": 60, "all_day": 1440, "all_week": 10_080, "backfill": 600][feed] }

    var description: String { "\(service)/\(feed)@\(made)" }
}

extension Event {
    /// The event's row as text.
    var row: String { "\(updated), \(time), \(felt.map(String.init) ?? "-"), \(host ?? "-")" }

    static let absent = "absent"
}

extension [String: String] {
    /// The rows that differ from what the oracle allows.
    func differences(from oracle: [String: Set<String>]) -> [String] {
        Set(keys).union(oracle.keys).sorted().compactMap { code in
            let (row, allowed) = (self[code] ?? Event.absent, oracle[code] ?? [Event.absent])
            return allowed.contains(row)
                ? nil : "\(code): \(row) instead of \(allowed.sorted().joined(separator: " or "))"
        }
    }
}
