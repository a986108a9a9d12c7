import CPostgreSQL
import Glibc

extension Connection {
    /// Connects to the first server that accepts the connection.
    ///
    /// libpq tries the hosts and their addresses in turn, but PQconnectPoll has no time limit for a silent host
    /// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PQCONNECTSTARTPARAMS), and libpq stops at a host that
    /// refuses the login. So this method removes a host that failed and starts libpq again with the remaining ones.
    func connect() throws {
        let operation = "connect to \(options)"
        var keywords = options.effective
        var failures: [PostgresError] = []
        while true {
            do {
                return try connect(keywords, operation)
            } catch let failure as ConnectFailure {
                close()
                lossReason = nil
                failures += failure.errors
                guard !failure.others.isEmpty else { throw Self.summary(of: failures, operation) }
                keywords.merge(failure.others.keywords) { $1 }
                keywords["connect_timeout"] = "\(failure.limit.components.seconds)"
            }
        }
    }

    private struct ConnectFailure: Error {
        /// One error per attempt, in the order of the attempts.
        let errors: [PostgresError]
        /// The hosts to try next, each for at most `limit`.
        var others: [ServerHost] = []
        var limit = Duration.zero
    }

    /// Combines all failures into one error that contains each message once. The error is thrown only if no server accepted the
    /// connection. A refused login or database does not stop the search, because a standby that is behind may not have a new
    /// login or database yet.
    private static func summary(of failures: [PostgresError], _ operation: String) -> PostgresError {
        let known = failures.first { !$0.isOutage } ?? failures.first { $0.sqlState != nil }
        guard var error = known ?? failures.first else {
            return PostgresError(operation: operation, message: "no host", connectionLost: true)
        }
        var messages: [String] = []
        for failure in failures where !messages.contains(failure.message) {
            messages.append(failure.message)
        }
        error.message = messages.joined(separator: "; ")
        return error
    }

    /// - Throws: `ConnectFailure`; `CancellationError`.
    private func connect(_ keywords: [String: String], _ operation: String) throws {
        try Task.checkCancellation()
        guard let handle = withCStrings(of: keywords, { PQconnectStartParams($0, $1, 0) }) else {
            throw PostgresError(operation: operation, message: "out of memory")
        }
        self.handle = handle
        notices.install(on: handle)
        // This is the only way to get the SQLSTATE of a refused connection.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        guard PQstatus(handle) != CONNECTION_BAD else {
            throw ConnectFailure(errors: connectErrors(operation, handle))
        }
        // These include the keywords that libpq adds from the environment and the service file.
        let known = PQconninfo(handle).map { takeKeywords(of: $0) } ?? [:]
        let hosts = [ServerHost](known)
        let limit = hosts.connectLimit(known["connect_timeout"])
        var place = ServerHost(of: handle)
        var deadline = ContinuousClock.now + limit
        func failure(_ errors: [PostgresError], isSilent: Bool = false) -> ConnectFailure {
            ConnectFailure(errors: errors, others: hosts.leaving(place, isSilent: isSilent), limit: limit)
        }
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED, PQstatus(handle) != CONNECTION_BAD else {
                throw failure(connectErrors(operation, handle))
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else {
                throw failure(
                    connectErrors(operation, handle) + [silence(of: place, within: limit, operation)],
                    isSilent: true)
            }
            // libpq may open a new socket between two calls, for example to try again without TLS.
            if waitForSocket(PQsocket(handle), for: status == PGRES_POLLING_WRITING ? POLLOUT : POLLIN) {
                status = PQconnectPoll(handle)
            }
            guard place != ServerHost(of: handle) else { continue }
            place = ServerHost(of: handle)
            deadline = .now + limit
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        server = keywords.merging([place].keywords) { $1 }
        do {
            waitLimit = .limited(until: deadline, limit: limit)
            defer { waitLimit = .untilCancelled }
            try leaveSerializable(handle)
            if options.avoidsOpenSchemas { try leaveOpenSchemas(handle) }
        } catch let error as PostgresError {
            throw failure([error])
        }
    }

    /// A hot standby does not support SERIALIZABLE. If that is the default isolation level, the standby refuses every statement
    /// (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CAVEATS).
    private func leaveSerializable(_ handle: OpaquePointer) throws {
        guard isStandby(handle) == true else { return }
        let setting = "default_transaction_isolation"
        let rows = try query("show \(unescaped: setting)", to: "read \(setting)")
        guard try rows[0].decode(setting) == "serializable" else { return }
        try execute(script: "set \(setting) = 'repeatable read'", to: "set \(setting)")
    }

    /// Sets the search path to `pg_catalog, pg_temp` if anyone may create functions in one of its schemas. Does nothing behind a
    /// pooler, because the pooler may give the session to another client later. All names in the statement are qualified, because
    /// the old search path is still in force.
    private func leaveOpenSchemas(_ handle: OpaquePointer) throws {
        try query(
            """
            select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)
            where pg_catalog.pg_backend_pid() operator(pg_catalog.=) \(Int(PQbackendPID(handle)))::pg_catalog.int4
              and exists (select from pg_catalog.unnest(pg_catalog.current_schemas(false)) as path (name)
                          where pg_catalog.has_schema_privilege('public', path.name::pg_catalog.text, 'create'))
            """, to: "set the search path")
    }

    /// Whether the server was a hot standby when it last reported its state; nil behind a pooler that does not report the state
    /// (https://www.postgresql.org/docs/current/libpq-status.html#LIBPQ-PQPARAMETERSTATUS).
    func isStandby(_ handle: OpaquePointer) -> Bool? {
        PQparameterStatus(handle, "in_hot_standby").map { String(cString: $0) == "on" }
    }

    private func silence(of host: ServerHost, within limit: Duration, _ operation: String) -> PostgresError {
        PostgresError(
            operation: operation, message: "no answer within \(limit) from \(host.name) port \(host.port)",
            remedy: "check the host, the port and the firewall, or raise connect_timeout",
            connectionLost: true)
    }

    private static func remedy(for message: String) -> String? {
        if message.contains("no password supplied") {
            return "set PGPASSWORD, or use a password file (PGPASSFILE)"
        }
        let isElsewhere = ["SSL", "certificate", "translate host name"].contains { message.contains($0) }
        return isElsewhere ? nil : "is the server running there?"
    }

    private func connectErrors(_ operation: String, _ handle: OpaquePointer) -> [PostgresError] {
        // Indented lines are libpq's advice. Each other line describes one attempt, or a place in the server's source (LOCATION).
        // A line that ends in "failed: " belongs to the attempt that is still running.
        String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isNewline)
            .filter { !$0.hasPrefix("\t") && !$0.hasPrefix("LOCATION:") && !$0.hasSuffix(" failed: ") }
            .map { line in
                let sqlState = line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map { String($0.output.1) }
                let message = String(sqlState.map { line.replacing(":  \($0): ", with: ": ") } ?? line)
                var error = PostgresError(
                    operation: operation, sqlState: sqlState, message: message,
                    remedy: sqlState == nil ? Self.remedy(for: message) : nil, connectionLost: true)
                // The initializer may have hidden a value in the message. Here the value is that of a setting, not of a row, so
                // it is shown.
                error.message = message
                return error
            }
    }
}
