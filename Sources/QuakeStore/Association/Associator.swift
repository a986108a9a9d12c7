import Association
import Logging
import PostgreSQL

/// Keeps the tables `earthquake` and `earthquake_member` up to date. They record which rows of different agencies describe the
/// same earthquake.
///
/// The associator is a `ReaderView` whose data are in the catalogue's own database. **Each pass is one REPEATABLE READ
/// transaction**, which reads the changes after the stored position, groups the affected rows, and writes groups and position
/// together. So if the process is killed, the pass has either taken effect completely or not at all. The position's row is locked
/// during a pass: any number of associators may run, but only one works at a time.
///
/// A pass groups all rows again if the position is no longer valid, if the table was altered, if the parameters have changed, or
/// if very many rows have changed.
public struct Associator: ReaderView {
    private let logger: Logger

    /// The name under which a follower reports its position to `history.reader`.
    public static let readerName = "associate"

    public init(logger: Logger) {
        self.logger = logger
    }

    /// The result of a pass.
    public struct Outcome: Sendable {
        /// The groups include all changes up to this position.
        public let position: Position
        /// The reason why all rows were grouped again; nil if only the neighbours of changed rows were regrouped.
        public var rebuilt: String?
        /// How many rows of `earthquake` and `earthquake_member` were written or deleted, and how many overrides got a new code.
        public var written = 0
        public var findings: [Finding] = []
    }

    /// Always nil: the position is in the database, and each pass reads it there.
    public func position() -> Position? { nil }

    public func accepts(_ table: TableShape) -> Bool { true }

    public func apply(_ pass: Pass) async throws -> Position {
        try await associate(on: pass.connection).position
    }

    /// Brings the groups up to date.
    ///
    /// - Parameter rebuilds: whether to group all rows again, even without a reason.
    /// - Throws: `PostgresError`; `MigrationError` or `Failure` if a newer version has migrated the database or grouped the rows.
    ///   Then nothing has changed.
    @discardableResult
    public func associate(rebuilds: Bool = false, on connection: Connection) async throws -> Outcome {
        let outcome = try await connection.repeating { try await pass(rebuilds: rebuilds, on: connection) }
        if let reason = outcome.rebuilt, !rebuilds {
            logger.notice("\(reason): all rows were associated again")
        }
        for finding in outcome.findings { logger.warning("\(finding)") }
        return outcome
    }

    /// Reports the position after a pass that no follower has made, if the associator has ever followed the changes. Otherwise
    /// `quakes status` would show the lag of an old report. If the login may not report, it has made no such report, either.
    public func reportAgain(after outcome: Outcome, on connection: Connection) async throws {
        let operation = "report the associator's position"
        // The pass may have written groups, and these are changes, too.
        let position = try await outcome.written == 0 ? outcome.position : associate(on: connection).position
        do {
            _ = try await connection.write(to: operation) {
                try await connection.query(
                    """
                    select history.report(name, \(position.token)) from history.reader
                    where name = \(Self.readerName) and token < \(position.token)
                    """, to: operation)
            }
        } catch let error as PostgresError where ["42501", "55000", "55P03"].contains(error.sqlState) {
            logger.debug("\(error)")
        }
    }

    /// If more changes than this follow the stored position, all rows are grouped again. Without this limit, the neighbours of
    /// all changed rows would have to fit into memory.
    private static let many = 50_000

    /// The context that the history records for the transaction of a pass.
    static let context = "association"

    private func pass(rebuilds: Bool, on connection: Connection) async throws -> Outcome {
        let settings = CatalogueState.lookUps.merging(["history.context": "'\(Self.context)'"]) { $1 }
        return try await connection.transaction(
            .repeatableRead, with: settings, holding: "public.quake", to: "associate"
        ) {
            let state = try await AssociationState.lock(on: connection)
            try state.refuseNewer(rebuilds: rebuilds)
            let snapshot = try await CatalogueState.read(for: state.position, on: connection)
            var outcome = Outcome(position: snapshot.position)
            outcome.rebuilt = rebuilds ? "a rebuild was requested" : state.reasonToRebuild(snapshot)
            if outcome.rebuilt == nil, snapshot.position == state.position { return outcome }
            let renamed = try await Overrides.followRenames(on: connection)
            let overrides = try await Overrides.all(on: connection)
            let association = Association(state.parameters, overrides: overrides)
            let after = state.position?.token ?? 0
            if outcome.rebuilt == nil,
                try await Position.areChanges(
                    moreThan: Self.many, after: after, exceptIn: Self.context, on: connection)
            {
                outcome.rebuilt = "many rows have changed"
            }
            if outcome.rebuilt == nil {
                try await update(association, overrides, renamed, after: after, &outcome, on: connection)
            } else {
                var rebuild = Rebuild(association, connection)
                try await rebuild.run(&outcome)
            }
            outcome.written += renamed.count
            try await state.move(to: snapshot, isDurable: outcome.written > 0, on: connection)
            return outcome
        }
    }

    private func update(
        _ association: Association, _ overrides: [Override], _ renamed: [Override], after token: Int,
        _ outcome: inout Outcome, on connection: Connection
    ) async throws {
        let changes = try await SolutionChange.all(after: token, on: connection)
        let changed = try await Overrides.changed(after: token, on: connection) + renamed
        if changes.isEmpty, changed.isEmpty { return }
        var neighbourhood = Neighbourhood(association, changes, overrides: changed)
        while let request = neighbourhood.request {
            neighbourhood.add(try await request.rows(on: connection), for: request)
        }
        let grouping = association.group(neighbourhood.rows)
        let known = try await Earthquake.withMembers(neighbourhood.codes, on: connection)
        let revision = Revision(from: known, to: grouping.earthquakes)
        outcome.written = try await revision.write(on: connection)
        let deleted = changes.filter { $0.after == nil }.compactMap { $0.before?.code }
        // The codes of overrides that were removed are not named any more.
        let named = Set(changed.flatMap(\.codes) + deleted).intersection(overrides.flatMap(\.codes))
        let missing = named.subtracting(neighbourhood.rows.map(\.code))
        outcome.findings = Array(grouping.findings.union(missing.map(Finding.missing)))
    }
}
