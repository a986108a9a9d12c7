import Logging
import PostgreSQL

/// Reads pass after pass over one connection and hands them to a view.
struct Reading<V: View> {
    let connection: Connection
    let view: V
    let name: String?
    /// How long the server may take to answer what it answers at once.
    let patience: Duration
    let logger: Logger
    /// Where the view stands.
    private(set) var position: Position?
    /// The table's columns when they were last seen to change.
    private var table: TableShape?

    private var usedAt = ContinuousClock.now
    private var reportedAt: ContinuousClock.Instant?
    private var canReport = true

    init(
        connection: Connection, view: V, name: String?, patience: Duration, logger: Logger,
        position: Position?
    ) {
        self.connection = connection
        self.view = view
        self.name = name
        self.patience = patience
        self.logger = logger
        self.position = position
    }

    /// Whether the view holds the transaction with this token already.
    func hasReached(_ token: Int) -> Bool {
        position.map { $0.token >= token } ?? false
    }

    /// Applies one pass: everything up to this moment.
    @discardableResult
    nonisolated(nonsending)
        mutating func catchUp() async throws -> Position
    {
        try await probe()
        let (known, knownTable) = (position, table)
        let (reached, table) = try await connection.transaction(.repeatableReadOnly, to: "follow the changes")
        {
            let standing = try await Standing.read(of: known, on: connection)
            let table =
                if let knownTable, knownTable.signature == standing.shape {
                    knownTable
                } else {
                    try await TableShape.read(standing.shape, on: connection)
                }
            let freshStart =
                standing.freshStart ?? (view.accepts(table.columns) ? nil : FreshStart.otherColumns)
            if freshStart != nil || standing.position != known {
                announce(freshStart, at: standing.position)
                try await view.apply(
                    Pass(
                        freshStart: freshStart, position: standing.position, table: table,
                        after: known?.token ?? 0, connection: connection))
            }
            return (standing.position, table)
        }
        position = reached
        self.table = table
        return reached
    }

    private func announce(_ freshStart: FreshStart?, at position: Position) {
        switch freshStart {
        case nil: logger.debug("applying the changes up to token \(position.token)")
        case .first?: logger.notice("first start: taking a snapshot at token \(position.token)")
        case let reason?: logger.notice("\(reason); taking a fresh snapshot at token \(position.token)")
        }
    }

    /// A connection that was idle for long may be silently gone, and a pass would wait for ever.
    nonisolated(nonsending)
        private mutating func probe() async throws
    {
        defer { usedAt = .now }
        guard .now - usedAt > patience else { return }
        try await connection.expectingAnswer(within: patience) {
            _ = try await connection.query("select", to: "probe the connection")
        }
    }

    // MARK: Reporting

    /// Reports the position at most every 10 s.
    nonisolated(nonsending)
        mutating func reportNowAndThen() async throws
    {
        if let reportedAt, .now - reportedAt < .seconds(10) { return }
        try await report()
    }

    /// Tells `history.reader` how far the named reader has come. Where it can't be told, on a standby or for want of a
    /// permission, following goes on without.
    nonisolated(nonsending)
        mutating func report() async throws
    {
        guard let name, let position, canReport else { return }
        reportedAt = .now
        do {
            try await connection.query(
                "select history.report(\(name), \(position.token))", to: "report the reader's position")
        } catch let error as PostgresError where ["25006", "42501"].contains(error.sqlState) {
            logger.warning(
                "\(error); this reader's lag will not be known, and prune will not spare what it needs")
            canReport = false
        }
    }
}
