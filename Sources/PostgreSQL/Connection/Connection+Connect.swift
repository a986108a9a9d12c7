import CPostgreSQL
import Glibc

extension Connection {
    /// Connects to the first server that takes it, among all addresses of all hosts in the options. Each of them has its own time
    /// limit, so that a silent one does not block the others.
    func connect() throws {
        let operation = "connect to \(options)"
        let search = ServerSearch(options)
        var failures: [PostgresError] = []
        var silent: Set<ServerSearch.Address> = []
        for attributes in search.rounds {
            for addresses in search.addresses {
                let limit = search.limit(ofEachOf: addresses.count)
                for address in addresses where !silent.contains(address) {
                    var keywords = address
                    if let attributes { keywords["target_session_attrs"] = attributes }
                    do {
                        return try connect(keywords, within: limit, operation)
                    } catch let failure as ConnectFailure {
                        close()
                        lossReason = nil
                        if failure.isSilence { silent.insert(address) }
                        failures.append(failure.error)
                    }
                }
            }
        }
        throw Self.summary(of: failures, operation)
    }

    /// Why connecting to one server failed.
    private struct ConnectFailure: Error {
        let error: PostgresError
        var isSilence = false
    }

    /// All failures, each once. A login or a database that a server does not know may be new, and that server a standby that is
    /// behind: that failure counts only if no other server took the connection.
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

    /// Connects to one address.
    ///
    /// - Throws: `ConnectFailure`; `CancellationError`.
    private func connect(_ keywords: ServerSearch.Address, within limit: Duration, _ operation: String) throws
    {
        try Task.checkCancellation()
        let deadline = ContinuousClock.now + limit
        guard let handle = startConnecting(keywords) else {
            throw PostgresError(operation: operation, message: "out of memory")
        }
        self.handle = handle
        server = keywords
        notices.install(on: handle)
        // This is the only way to get the SQLSTATE of a refused connection.
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        var status = PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED, PQstatus(handle) != CONNECTION_BAD else {
                throw connectFailure(operation, handle)
            }
            try Task.checkCancellation()
            guard ContinuousClock.now < deadline else {
                throw silence(of: handle, within: limit, operation)
            }
            // The socket may change between attempts (TLS).
            if waitForSocket(PQsocket(handle), for: status == PGRES_POLLING_WRITING ? POLLOUT : POLLIN) {
                status = PQconnectPoll(handle)
            }
        }
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        do {
            waitLimit = .limited(until: deadline, limit: limit)
            defer { waitLimit = .untilCancelled }
            try leaveSerializable(handle)
            if options.avoidsOpenSchemas { try leaveOpenSchemas(handle) }
        } catch let error as PostgresError {
            throw ConnectFailure(error: error, isSilence: error.connectionLost && error.sqlState == nil)
        }
    }

    /// A hot standby cannot be SERIALIZABLE, and refuses every statement that is by default
    /// (https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CAVEATS).
    private func leaveSerializable(_ handle: OpaquePointer) throws {
        guard isStandby(handle) == true else { return }
        let setting = "default_transaction_isolation"
        let rows = try query("show \(unescaped: setting)", to: "read \(setting)")
        guard try rows[0].decode(setting) == "serializable" else { return }
        try execute(script: "set \(setting) = 'repeatable read'", to: "set \(setting)")
    }

    /// Leaves schemas out of the search path in which anyone may create functions. A pooler's sessions stay as they are: the next
    /// client may get them. All names are qualified, because the path is still the other one.
    private func leaveOpenSchemas(_ handle: OpaquePointer) throws {
        try query(
            """
            select pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)
            where pg_catalog.pg_backend_pid() operator(pg_catalog.=) \(Int(PQbackendPID(handle)))::pg_catalog.int4
              and exists (select from pg_catalog.unnest(pg_catalog.current_schemas(false)) as path (name)
                          where pg_catalog.has_schema_privilege('public', path.name::pg_catalog.text, 'create'))
            """, to: "leave open schemas")
    }

    /// Whether the server was a hot standby when it last spoke; nil behind a pooler that does not say
    /// (https://www.postgresql.org/docs/current/libpq-status.html#LIBPQ-PQPARAMETERSTATUS).
    func isStandby(_ handle: OpaquePointer) -> Bool? {
        PQparameterStatus(handle, "in_hot_standby").map { String(cString: $0) == "on" }
    }

    private func silence(of handle: OpaquePointer, within limit: Duration, _ operation: String)
        -> ConnectFailure
    {
        let place = [PQhost(handle), PQport(handle)].compactMap { $0.map { String(cString: $0) } }
        return ConnectFailure(
            error: PostgresError(
                operation: operation,
                message: "no answer within \(limit) from \(place.joined(separator: " port "))",
                remedy: "check the host, the port and the firewall, or raise connect_timeout",
                connectionLost: true),
            isSilence: true)
    }

    private func connectFailure(_ operation: String, _ handle: OpaquePointer) -> ConnectFailure {
        // Indented lines are libpq's advice. Each of the others describes one attempt, or a place in the server's
        // source.
        let lines = String(cString: PQerrorMessage(handle)).split(whereSeparator: \.isNewline)
        var message = lines.filter { !$0.hasPrefix("\t") && !$0.hasPrefix("LOCATION:") }
            .joined(separator: " ")
        let sqlState = message.firstMatch(of: #/:  ([0-9A-Z]{5}): /#).map { String($0.output.1) }
        if let sqlState { message.replace(":  \(sqlState): ", with: ": ") }
        return ConnectFailure(
            error: PostgresError(
                operation: operation, sqlState: sqlState, message: message,
                remedy: sqlState == nil ? "is the server running there?" : nil, connectionLost: true))
    }
}
