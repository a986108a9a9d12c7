/// A failed operation on a server: an error from the server, or from libpq.
///
/// The description is one line with the operation, the server's message, the SQLSTATE and, if there is one, the remedy.
/// It contains no bound value, no row and no password: the server's DETAIL and CONTEXT, which quote rows, are left out.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    public var operation: String
    /// The five characters of the SQLSTATE, when the error came from the server
    /// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
    public var sqlState: String?
    public var message: String
    public var remedy: String?
    public var connectionLost: Bool
    /// Whether the COMMIT failed. If so, the error is not about a single value.
    public var isOfCommit = false
    /// A second failure during the clean-up, such as a failed rollback.
    public var alsoFailed: String?

    public init(
        operation: String, sqlState: String? = nil, message: String, remedy: String? = nil,
        connectionLost: Bool = false
    ) {
        self.operation = operation
        self.sqlState = sqlState
        self.message = message
        self.remedy = remedy ?? sqlState.flatMap { Self.remedy(sqlState: $0, message) }
        self.connectionLost = connectionLost
        if quotesValue { self.message = withoutValues(message) }
    }

    /// A deadlock, a serialisation failure, or a lock that was not released in time: the transaction may succeed if it is
    /// repeated.
    public var isRetryable: Bool { ["40P01", "40001", "55P03"].contains(sqlState) }

    /// A statement was cancelled, for example because it took longer than its time limit.
    public var isCancelledStatement: Bool { sqlState == "57014" }

    /// The server was not reachable, or did not accept connections: a later attempt or another server may succeed.
    public var isOutage: Bool {
        connectionLost
            && (sqlState.map { state in ["08", "53", "57", "58"].contains { state.hasPrefix($0) } } ?? true)
    }

    /// A later attempt may succeed: the connection was lost, the server is read-only (25006), or the error is about connections
    /// (class 08), conflicts (40), resources (53), locks (55), an operator's intervention (57) or the disk (58).
    public var isPassing: Bool {
        connectionLost
            || ["08", "25006", "40", "53", "55", "57", "58"].contains { sqlState?.hasPrefix($0) ?? false }
    }

    /// The server refused a value: class 22 (data exception), class 54 (program limit exceeded), 23514 (check violation) or 23502
    /// (null in a column that must not be null).
    public var isRefusedValue: Bool {
        !isOfCommit && (quotesValue || ["23514", "23502"].contains(sqlState))
    }

    /// The server refused a value, or a constraint (class 23) or a trigger (P0001, RAISE EXCEPTION) refused a row.
    public var isRefusedRow: Bool {
        isRefusedValue || !isOfCommit && (sqlState.map { $0.hasPrefix("23") || $0 == "P0001" } ?? false)
    }

    /// The server's notification queue is full. The server then refuses every COMMIT that sends notifications.
    public var isFullQueue: Bool { isOfCommit && sqlState == "54000" }

    /// The message may quote the value that the server refused. The message about a check constraint names only the constraint.
    var quotesValue: Bool {
        sqlState.map { $0.hasPrefix("22") || $0.hasPrefix("54") } ?? false
    }

    public var isUndefinedTable: Bool { sqlState == "42P01" }

    /// The server answered, but does not know the table, column, function or schema.
    public var isUndefinedObject: Bool {
        sqlState.map { ["42P01", "42703", "42883", "3F000"].contains($0) } ?? false
    }

    /// The columns of a prepared query, or their types, have changed since it was prepared (0A000, feature not supported: "cached
    /// plan must not change result type").
    public var hasChangedShape: Bool { sqlState == "0A000" }

    private static func remedy(sqlState: String, _ message: String) -> String? {
        switch sqlState {
        case "25006": "the server is a hot standby, or default_transaction_read_only is on"
        case "28P01", "28000": "check the user, the password and the server's pg_hba.conf"
        case "3D000":
            "create the database first: createdb \(message.firstMatch(of: #/database "([\w-]+)"/#)?.1 ?? "NAME")"
        case "42501" where message.contains("would be affected by row-level security"):
            "a reader must see all rows: alter role … bypassrls"
        case "42501": "grant the role the missing privilege"
        case "53300": "raise max_connections, or run fewer clients"
        case "53100": "free disk space on the server"
        case "55P03": "another transaction holds the lock: see pg_stat_activity"
        case "57P03": "the server is starting or stopping: try again"
        default: nil
        }
    }

    public var description: String {
        var text = "cannot \(operation): \(message)"
        if let sqlState { text += " (SQLSTATE \(sqlState))" }
        if let remedy { text += "; \(remedy)" }
        if let alsoFailed { text += "; then \(alsoFailed)" }
        return text
    }
}
