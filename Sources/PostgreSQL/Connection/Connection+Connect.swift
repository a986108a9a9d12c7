import CPostgreSQL

extension Connection {
    /// Connects, within the options' time limit.
    func connect() throws {
        let operation = "connect to \(options)"
        let deadline = ContinuousClock.now + options.connectTimeout
        let handle = try startConnecting(operation)
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED, PQstatus(handle) != CONNECTION_BAD else {
                throw connectFailure(operation, handle)
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else {
                throw PostgresError(
                    operation: operation, message: "no answer within \(options.connectTimeout)",
                    remedy: "check the host, the port and the firewall, or raise connect_timeout",
                    connectionLost: true)
            }
            // The socket may change between attempts (another address, or TLS).
            if waitForSocket(PQsocket(handle), writable: status == PGRES_POLLING_WRITING) {
                status = PQconnectPoll(handle)
            }
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        try leaveSerializable(handle, by: deadline)
    }

    /// A hot standby cannot be SERIALIZABLE, and refuses every statement that is by default
    /// (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CAVEATS).
    private func leaveSerializable(_ handle: OpaquePointer, by deadline: ContinuousClock.Instant) throws {
        guard isStandby(handle) == true else { return }
        waitLimit = .limited(until: deadline, limit: options.connectTimeout)
        defer { waitLimit = .untilCancelled }
        let setting = "default_transaction_isolation"
        let rows = try query("show \(unescaped: setting)", to: "read \(setting)")
        guard try rows[0].decode(setting) == "serializable" else { return }
        try execute(script: "set \(setting) = 'repeatable read'", to: "set \(setting)")
    }

    /// Whether the server was a hot standby when it last spoke; nil behind a pooler that does not say
    /// (https://www.postgresql.org/docs/current/libpq-status.html#LIBPQ-PQPARAMETERSTATUS).
    func isStandby(_ handle: OpaquePointer) -> Bool? {
        PQparameterStatus(handle, "in_hot_standby").map { String(cString: $0) == "on" }
    }

    /// Looks up the host's name, which blocks, and starts to connect.
    private func startConnecting(_ operation: String) throws -> OpaquePointer {
        try Task.checkCancellation()
        let keywords = options.effective.sorted { $0.key < $1.key }
        handle = withCStrings(keywords.map { $0.key }) { names in
            withCStrings(keywords.map { $0.value }) { values in
                PQconnectStartParams(names, values, 0)
            }
        }
        guard let handle else { throw PostgresError(operation: operation, message: "out of memory") }
        notices.install(on: handle)
        // This is the only way to get the SQLSTATE of a refused connection.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        return handle
    }

    private func connectFailure(_ operation: String, _ handle: OpaquePointer) -> PostgresError {
        // Indented lines are libpq's advice. Each of the others describes one attempt, or a place in the server's
        // source.
        let lines = String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isNewline)
        var message = lines.filter { !$0.hasPrefix("\t") && !$0.hasPrefix("LOCATION:") }
            .joined(separator: " ")
        guard let verbose = message.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) else {
            return PostgresError(
                operation: operation, message: message, remedy: "is the server running there?",
                connectionLost: true)
        }
        let sqlState = String(verbose.output.1)
        message.replace(":  \(sqlState): ", with: ": ")
        return PostgresError(
            operation: operation, sqlState: sqlState, message: message, connectionLost: true)
    }
}
