/// What documents leave in the table, by the decision table of `migrations/0004_settling.sql`: written from that table
/// alone, for documents in the order in which they were made. Minutes since 1970.
///
/// That is one row or none for each code, as long as no service goes back to an earlier revision. If one does, the table keeps
/// the later revision, and what the earlier one said is known only to a table that had it first. `Outcomes` has what either may
/// hold.
struct StatementOracle {
    private var events: [String: Outcomes] = [:]

    /// The rows that each code may have, in the words of `TestDatabase.rows`.
    static func table(after statements: some Collection<Statement>) -> [String: Set<String>] {
        var oracle = StatementOracle()
        for made in Set(statements.map(\.made)).sorted() {
            oracle.take(statements.filter { $0.made == made }.sorted { $0.feed < $1.feed })
        }
        return oracle.events.mapValues { Set($0.rows.map { $0?.row ?? Event.absent }) }
    }

    /// Takes what was stated at one moment: first who is there, then who is gone.
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
                // Nothing is inferred from a revision that goes back.
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

/// The rows that an event may have; nil for none.
private struct Outcomes {
    private(set) var rows: Set<Event?> = [nil]
    private var listed: Set<Event> = []
    /// What was stated last, if it is earlier than a row.
    private var earlier: Event?

    /// The later revision stays, of two of one time what is stated later.
    ///
    /// A revision later than the one that is listed may have come, or may come, after what is stated here. So it may be there again
    /// after it was gone, and of two of one time, the one that was stated earlier.
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

    /// - Parameter ifSure: whether what shows that the event is gone is there in any case.
    mutating func remove(ifSure isSure: Bool = true, _ isGone: (Event) -> Bool) {
        let remaining = rows.map { row in row.flatMap { isGone($0) ? nil : $0 } }
        // A table that does not have the later revision yet loses the earlier one, and with it what it knew.
        let mayBeGone = earlier.map(isGone) ?? false
        rows = Set(remaining).union(isSure ? [] : rows).union(mayBeGone ? [nil] : [])
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
    var period: Int? { ["all_hour": 60, "all_day": 1440, "all_week": 10_080, "backfill": 600][feed] }

    var description: String { "\(service)/\(feed)@\(made)" }
}

extension Event {
    /// What the table has of it.
    var row: String { "\(updated), \(time), \(felt.map(String.init) ?? "-"), \(host ?? "-")" }

    static let absent = "absent"
}

extension [String: String] {
    /// The rows that may not be so, by an oracle.
    func differences(from oracle: [String: Set<String>]) -> [String] {
        Set(keys).union(oracle.keys).sorted().compactMap { code in
            let (row, allowed) = (self[code] ?? Event.absent, oracle[code] ?? [Event.absent])
            return allowed.contains(row)
                ? nil : "\(code): \(row) instead of \(allowed.sorted().joined(separator: " or "))"
        }
    }
}
