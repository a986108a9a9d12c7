/// Computes the rows that documents leave in the table, according to the decision table in `migrations/0004_settling.sql`. The
/// oracle was written from that decision table alone. It processes documents in the order in which they were made. Times are in
/// minutes since 1970.
///
/// Each code has a single possible outcome, one row or none, as long as no service goes back to an earlier revision. If a service
/// does so, the table keeps the later revision. Only a table that imported the earlier revision first has ever contained that
/// revision, so the outcome depends on the order of the imports. `Outcomes` has the possible rows of all orders.
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

    /// Processes the statements of one moment: first all listed events, the latest revisions first, then all removals.
    private mutating func take(_ statements: [Statement]) {
        let versions = statements.flatMap(\.events).filter { !$0.isBroken }
        for version in versions.sorted(by: { $0.updated > $1.updated }) {
            events[version.code, default: Outcomes()].list(version)
        }
        // Statements of the same moment have no order, so either of two versions with the same revision time may be kept.
        for same in Dictionary(grouping: versions, by: { [$0.code, "\($0.updated)"] }).values {
            events[same[0].code]?.list(eitherOf: same)
        }
        for statement in statements { remove(by: statement) }
    }

    private mutating func remove(by statement: Statement) {
        let held = Set(statement.events.map(\.code))
        for version in statement.events where !version.isBroken {
            guard let heir = events[version.code] else { continue }
            for code in version.ids where !held.contains(code) {
                // If the table may have another revision of the event with these `ids`, the event `code` may stay.
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
    /// The version that was stated last, if one of `rows` has a later revision; nil otherwise.
    private var earlier: Event?

    /// Keeps the later revision. If two versions have the same revision time, the one that is stated later is kept.
    ///
    /// A version later than `version` may be imported after this statement, and is then in the table again, even after a removal.
    /// If several such versions have the same revision time, this applies to each of them.
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

    mutating func list(eitherOf versions: [Event]) {
        if versions.contains(where: rows.contains) { rows.formUnion(versions) }
    }

    /// - Parameter ifSure: whether the removal happens in any case. If false, the present rows also stay possible.
    mutating func remove(ifSure isSure: Bool = true, _ isGone: (Event) -> Bool) {
        let remaining = rows.map { row in row.flatMap { isGone($0) ? nil : $0 } }
        // A table that contains the earlier revision, and not the later one, may lose the row.
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

    /// The document is complete for this many minutes before `made`; nil if the document is not complete.
    var period: Int? { ["all_hour": 60, "all_day": 1440, "all_week": 10_080, "backfill": 600][feed] }

    var description: String { "\(service)/\(feed)@\(made)" }
}

extension Event {
    /// The event's row as text.
    var row: String { "\(updated), \(time), \(felt.map(String.init) ?? "-"), \(host ?? "-")" }

    static let absent = "absent"
}

extension [String: String] {
    /// Describes the rows that the oracle does not allow.
    func differences(from oracle: [String: Set<String>]) -> [String] {
        Set(keys).union(oracle.keys).sorted().compactMap { code in
            let (row, allowed) = (self[code] ?? Event.absent, oracle[code] ?? [Event.absent])
            return allowed.contains(row)
                ? nil : "\(code): \(row) instead of \(allowed.sorted().joined(separator: " or "))"
        }
    }
}
