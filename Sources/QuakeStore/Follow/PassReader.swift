import Logging
import PostgreSQL

/// Makes passes over one connection, and reports the view's position.
struct PassReader<V: ReaderView> {
    let connection: Connection
    let view: V
    let name: String?
    let answerLimit: Duration
    let logger: Logger
    /// How long each statement of a pass may take; nil for no limit.
    var limit: Duration?
    /// How long to wait for a hot standby that is behind the view. After this time, the view starts over. If `patience` is nil,
    /// `StandbyBehind` is thrown instead.
    var patience: Duration? = .seconds(30)
    /// Called with the progress of the first pass; nil afterwards.
    private(set) var observer: (@Sendable (PassProgress) -> Void)?
    private(set) var position: Position?
    private(set) var start: Int?
    private(set) var table: TableShape?

    /// When the next report is due; nil for at once.
    private(set) var reportAt: ContinuousClock.Instant?
    /// Whether the server refused the last report.
    private(set) var isRefused = false

    /// - Parameter token: the greatest token of the notifications; nil when it is time to poll.
    mutating func read(heard token: Int?) async throws {
        switch token {
        case let token? where hasJustReached(token): break
        case let token? where token > position?.token ?? 0: try await applyPass(isPrepared: true)
        // Without a token, it is time to poll. A lower token may mean that the server was restored to an earlier state.
        default: try await catchUp()
        }
    }

    /// Whether the view's last pass included the transaction with this token. A pass may read a transaction before the
    /// notification of that transaction arrives.
    private func hasJustReached(_ token: Int) -> Bool {
        position.map { token > (start ?? $0.token - 1) && token <= $0.token } ?? false
    }

    @discardableResult
    mutating func catchUp() async throws -> Position {
        // Usually nothing has changed, and the view needs no pass.
        if let position {
            // Without a time limit, a network path that drops packets would make the query wait for ever.
            let (table, snapshot) = try await connection.expectingAnswer(within: answerLimit) {
                (try await knownTable(), try await CatalogueState.read(for: position, on: connection))
            }
            if snapshot.position == position, snapshot.shape == table.signature, view.accepts(table),
                !view.isDue
            {
                observer = nil
                return position
            }
        }
        return try await applyPass()
    }

    /// Catches up on a standby. If the standby's replay cancels a pass, the next pass reads the same changes.
    mutating func catchUpOnStandby() async throws {
        do {
            try await catchUp()
        } catch let error as PostgresError where error.sqlState == "40001" && !error.connectionLost {
            logger.notice("\(error); trying again")
        }
    }

    /// Why a view of a table of another shape has to start over. If its position is no longer valid either, that is the reason.
    private func alteration() async throws -> FreshStart {
        let state = try await state()
        // A standby that is behind does not know the position yet.
        return state.isBehind ? .altered : state.freshStart ?? .altered
    }

    /// - Parameter isPrepared: whether to prepare the query. A prepared query needs a session. A connection that has received a
    ///   notification has one.
    @discardableResult
    mutating func applyPass(isPrepared: Bool = false) async throws -> Position {
        var isPrepared = isPrepared
        var freshStart = position == nil ? FreshStart.first : nil
        while true {
            let wasKnown = table != nil
            let table = try await knownTable()
            if freshStart == nil, !view.accepts(table) { freshStart = try await alteration() }
            var pass = Pass(
                freshStart: freshStart, table: table, position: position, connection: connection,
                logger: logger, limit: limit,
                isPrepared: isPrepared && freshStart == nil)
            do {
                if let observer { pass.counter = try await pass.counter(telling: observer) }
                defer { pass.counter?.end() }
                let reached = try await view.apply(pass)
                // Later passes are short, so their progress is not reported.
                observer = nil
                start = freshStart == nil ? position?.token : nil
                position = reached
                return reached
            } catch let mismatch as Pass.Mismatch {
                if mismatch.snapshot.shape != table.signature { self.table = nil }
                if freshStart == nil, mismatch.snapshot.isBehind, try await comesBehind(mismatch.snapshot) {
                    continue
                }
                freshStart = freshStart ?? mismatch.snapshot.freshStart ?? .altered
            } catch let error as PostgresError
                where wasKnown && (error.isUndefinedObject || error.hasChangedShape)
            {
                // The query names columns that were dropped or whose type was changed.
                self.table = nil
                if freshStart == nil { freshStart = try await alteration() }
            } catch let error as PostgresError where error.sqlState == "40001" && pass.isPrepared {
                // The table was rewritten after the pass's snapshot was taken.
                isPrepared = false
            }
        }
    }

    /// Waits until a standby has reached the view's position. If the standby does not reach it within `patience`, the
    /// transactions that the standby lacks count as lost.
    private mutating func comesBehind(_ snapshot: CatalogueState) async throws -> Bool {
        guard let token = position?.token else { return false }
        let behind = StandbyBehind(token: token, newest: snapshot.position.token)
        guard let patience else { throw behind }
        if patience > .zero { logger.notice("\(behind); waiting up to \(patience) until it catches up") }
        let end = ContinuousClock.now + patience
        while .now < end {
            try await Task.sleep(for: .milliseconds(200))
            if try await !state().isBehind { return true }
        }
        return false
    }

    /// The catalogue's state, with the verdict on the view's position.
    private func state() async throws -> CatalogueState {
        try await connection.expectingAnswer(within: answerLimit) {
            try await CatalogueState.read(for: position, on: connection)
        }
    }

    private mutating func knownTable() async throws -> TableShape {
        if let table { return table }
        let read = try await TableShape.read(on: connection)
        table = read
        return read
    }

    // MARK: Reporting

    mutating func reportNowAndThen() async throws {
        if let reportAt, .now < reportAt { return }
        try await report()
    }

    /// Makes the next report due at once, because a standby that refused reports may have become the primary.
    mutating func reportAgain() { reportAt = nil }

    /// Reports the view's position. If the server refuses the report, because it is a standby or the role lacks the permission,
    /// following continues, and the next report is tried after ten minutes.
    mutating func report() async throws {
        guard let name, let position else { return }
        reportAt = .now + .seconds(10)
        do {
            _ = try await connection.write(to: "report the reader's position") {
                try await connection.query(
                    "select history.report(\(name), \(position.token))", to: "report the reader's position")
            }
            isRefused = false
        } catch let error as PostgresError where error.sqlState == "55P03" && !error.connectionLost {
            logger.warning(
                "\(error); another session has reported as \(name) and has not ended its transaction; trying again in 10 s"
            )
        } catch let error as PostgresError where ["25006", "42501", "55000"].contains(error.sqlState) {
            if !isRefused {
                logger.warning(
                    "\(error); until it is reported, this reader's lag is unknown, and prune does not keep the history it needs; trying again in 10 min"
                )
            }
            isRefused = true
            reportAt = .now + .seconds(600)
        }
    }
}

/// A hot standby lacks transactions that a reader has read from another server.
public struct StandbyBehind: Error, CustomStringConvertible {
    /// The reader's token.
    public let token: Int
    /// The standby's newest token.
    public let newest: Int

    public var description: String {
        "this standby is at token \(newest), but the reader is already at token \(token)"
    }
}
