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
