/// What the sessions of a database are at.
extension TestDatabase {
    /// How many wait for a lock.
    public func blockedSessions() async throws -> Int {
        try await query(
            """
            select from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'
            """
        ).count
    }

    /// How many advisory locks are held: a run holds one while its session lives, also when the worker was killed.
    public func advisoryLocks() async throws -> Int {
        try await query(
            """
            select from pg_locks
            where locktype = 'advisory'
                and database = (select oid from pg_database where datname = current_database())
            """
        ).count
    }

    /// The process numbers of the database's other sessions, once they are this many, and stay: a session that has been
    /// closed may end a little later, and so may the one that asked last.
    public func lastingSessions(_ count: Int) async throws -> Set<Int> {
        var sessions: Set<Int> = []
        try await waitUntil {
            let before = sessions
            sessions = Set(try await otherSessions())
            return sessions.count == count && sessions == before
        }
        return sessions
    }

    /// The process numbers of the database's other sessions; on request, these are ended.
    public func otherSessions(ending: Bool = false) async throws -> [Int] {
        try await query(
            """
            select pid, case when \(ending) then pg_terminate_backend(pid) end from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
            """
        ).map { try $0.decode("pid") }
    }
}
