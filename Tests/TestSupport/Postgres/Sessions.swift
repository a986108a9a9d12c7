import PostgreSQL

/// Looks at the sessions of a database.
extension TestDatabase {
    /// How many sessions wait for a lock.
    public func blockedSessions() async throws -> Int {
        try await query(
            """
            select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'
            """
        ).count
    }

    /// The number of advisory locks that sessions hold. An import run's session holds one lock until the server ends the session,
    /// which may be some time after its worker process was killed.
    public func advisoryLocks() async throws -> Int {
        try await locks("locktype = 'advisory'").count
    }

    /// The rows of `pg_locks` for which a condition holds. `pg_locks` has the locks of all databases, and databases cloned from
    /// one template share relation OIDs, so only this database's locks are returned.
    public func locks(_ condition: String) async throws -> [Row] {
        try await query(
            """
            select objid::bigint as number from pg_locks
            where \(unescaped: condition)
                and database = (select oid from pg_database where datname = current_database())
            """)
    }

    /// Waits until two queries in a row find the same `count` other sessions, and returns their process ids. The server may end a
    /// session a little after its client has closed it, so the session of an earlier query may still be listed.
    public func lastingSessions(_ count: Int) async throws -> Set<Int> {
        var sessions: Set<Int> = []
        try await waitUntil {
            let before = sessions
            sessions = Set(try await otherSessions())
            return sessions.count == count && sessions == before
        }
        return sessions
    }

    /// The process ids of the database's other sessions. With `ending`, those sessions are terminated. The session for
    /// imports is closed first, if it is idle.
    public func otherSessions(ending: Bool = false) async throws -> [Int] {
        await closeIdleImportSession()
        return try await query(
            """
            select pid, case when \(ending) then pg_terminate_backend(pid) end from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
            """
        ).map { try $0.decode("pid") }
    }
}
