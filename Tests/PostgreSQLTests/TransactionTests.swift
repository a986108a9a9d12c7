import Logging
import PostgreSQL
import TestSupport
import Testing

@Suite("Transactions")
struct TransactionTests {
    @Test("The transaction is committed when the body returns, and the body's result is returned")
    func commit() async throws {
        try await withTable { database, connection in
            let result = try await connection.transaction(to: "insert") {
                try await connection.execute("insert into n values (1)", to: "insert")
                return "done"
            }
            #expect(result == "done")
            #expect(try await count(database) == 1)
        }
    }

    @Test("Settings apply only within the transaction, and its body runs on the connection's own thread")
    func settings() async throws {
        try await withConnection { connection in
            try await connection.run { connection in
                let within: String = try await connection.transaction(
                    .repeatableReadOnly, with: ["work_mem": "'3MB'", "jit": "off"], to: "read a setting"
                ) {
                    connection.assertIsolated()
                    return try connection.query(
                        "select concat_ws(' ', current_setting('work_mem'), current_setting('jit')) as setting",
                        to: "read a setting")[0].decode("setting")
                }
                #expect(within == "3MB off")
            }
            let after: String = try await connection.query(
                "select current_setting('work_mem') as setting", to: "read a setting")[0].decode("setting")
            #expect(after != "3MB")
        }
    }

    @Test("The transaction is rolled back when the body throws, and the error is thrown")
    func rollback() async throws {
        try await withTable { database, connection in
            await #expect(throws: Stop.self) {
                try await connection.transaction(to: "insert") {
                    try await connection.execute("insert into n values (1)", to: "insert")
                    throw Stop()
                }
            }
            #expect(try await count(database) == 0)
            try await connection.expectUsable()
        }
    }

    @Test("A cancelled task's transaction is rolled back, even if the body ignores the cancellation")
    func cancelled() async throws {
        try await withTable { database, connection in
            let importing = Task {
                try await connection.transaction(to: "insert") {
                    try await connection.execute("insert into n values (1)", to: "insert")
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            await #expect(throws: CancellationError.self) { try await importing.value }
            #expect(try await count(database) == 0)
            try await connection.expectUsable()
        }
    }

    @Test("If the body ignores the error of a failed statement, the commit is an error")
    func ignoredFailure() async throws {
        try await withTable { database, connection in
            let error = try await postgresError {
                try await connection.transaction(to: "insert") {
                    try await connection.execute("insert into n values (1)", to: "insert")
                    _ = try? await connection.execute("insert into n values (1 / 0)", to: "divide")
                }
            }
            #expect("\(error)" == "cannot commit: insert: a statement failed and its error was ignored")
            #expect(try await count(database) == 0)
            try await connection.expectUsable()
        }
    }

    @Test(
        "If the body has already ended the transaction, the commit is an error",
        arguments: ["rollback", "commit"])
    func endedByBody(_ statement: String) async throws {
        try await withConnection { connection in
            let error = try await postgresError {
                try await connection.transaction(to: "insert") {
                    try await connection.execute(script: statement, to: "end")
                }
            }
            #expect("\(error)" == "cannot commit: insert: the body has already ended the transaction")
            try await connection.expectUsable()
        }
    }

    @Test("A deferred constraint makes the commit fail, with its SQLSTATE")
    func deferredConstraint() async throws {
        try await withTable { database, connection in
            try await connection.execute(
                script: "alter table n add constraint one unique (i) deferrable initially deferred",
                to: "alter")
            let error = try await postgresError {
                try await connection.transaction(to: "insert twice") {
                    _ = try await connection.execute("insert into n values (1), (1)", to: "insert")
                }
            }
            #expect(error.sqlState == "23505")
            #expect("\(error)".hasPrefix("cannot commit: insert twice: duplicate key"))
            #expect(try await count(database) == 0)
            try await connection.expectUsable()
        }
    }

    /// PostgreSQL only warns about a nested BEGIN, and the inner COMMIT would end the outer transaction.
    @Test("A transaction inside a transaction is an error, and the outer one is rolled back")
    func nested() async throws {
        try await withTable { database, connection in
            let error = try await postgresError {
                try await connection.transaction(to: "outer") {
                    try await connection.execute("insert into n values (1)", to: "insert")
                    try await connection.transaction(to: "inner") {}
                }
            }
            #expect("\(error)" == "cannot begin: inner: a transaction is already open on this connection")
            #expect(try await count(database) == 0)
            try await connection.expectUsable()
        }
    }

    @Test(
        "The isolation level is the requested one",
        arguments: [
            (Connection.Isolation.readCommitted, "read committed", "off"),
            (.repeatableReadOnly, "repeatable read", "on"), (.serializable, "serializable", "off"),
        ])
    func isolation(_ isolation: Connection.Isolation, name: String, readOnly: String) async throws {
        try await withConnection { connection in
            let row = try await connection.transaction(isolation, to: "look") {
                try await connection.query(
                    """
                    select current_setting('transaction_isolation') as level,
                           current_setting('transaction_read_only') as read_only
                    """, to: "look")[0]
            }
            #expect(try row.decode("level") == name)
            #expect(try row.decode("read_only") == readOnly)
        }
    }

    @Test(
        "If a connection is terminated in a transaction, the only error is the statement's, without one for the rollback"
    )
    func terminated() async throws {
        try await withTable { database, connection in
            let pid = try await backend(of: connection)
            let error = try await postgresError {
                try await connection.transaction(to: "insert") {
                    try await connection.execute("insert into n values (1)", to: "insert")
                    try await database.query("select pg_terminate_backend(\(Int(pid))::int)")
                    try await connection.execute("insert into n values (2)", to: "insert more")
                }
            }
            #expect(error.connectionLost)
            #expect(error.operation == "insert more")
            #expect(error.alsoFailed == nil)
            #expect(try await count(database) == 0)
        }
    }

    @Test("When the connection is lost during the commit, the error says that the commit may have happened")
    func lostCommit() async throws {
        try await withTable { database, connection in
            try await connection.execute(
                script: """
                    create function die() returns trigger language plpgsql as
                        'begin perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(3600); return null; end';
                    create constraint trigger die after insert on n deferrable initially deferred
                        for each row execute function die()
                    """, to: "create")
            let error = try await postgresError {
                try await connection.transaction(to: "insert") {
                    _ = try await connection.execute("insert into n values (1)", to: "insert")
                }
            }
            #expect(error.sqlState == "57P01")
            #expect(error.connectionLost)
            #expect(error.remedy == "the transaction may or may not be committed: check before repeating it")
        }
    }

    /// body:   in the transaction ── throws ─ cannot send ROLLBACK: the other task's COPY uses the connection
    /// other:        COPY begins ──────────────────────────────────────────────────────────────────────── fails
    @Test("When the rollback also fails, both errors are kept and the connection is closed")
    func failedRollback() async throws {
        try await withTable { database, connection in
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            var others: [Task<Int, any Error>] = []
            let (ended, end) = AsyncStream.makeStream(of: Void.self)
            let error = try await postgresError {
                try await connection.transaction(to: "insert") {
                    let other = Task {
                        defer { begin.finish() }
                        return try await connection.copy(into: "n", columns: ["i"], to: "copy") { _ in
                            begin.finish()
                            for await _ in ended {}
                        }
                    }
                    for await _ in begun {}
                    others.append(other)
                    throw PostgresError(operation: "do it", message: "no")
                }
            }
            end.finish()
            #expect(error.alsoFailed?.hasPrefix("cannot roll back: insert: another command") == true)
            let later = try await postgresError { _ = try await others[0].value }
            #expect(later.connectionLost)
            #expect("\(later)".contains("the connection is closed: cannot roll back"))
            #expect(try await count(database) == 0)
        }
    }

    private func count(_ database: TestDatabase) async throws -> Int {
        try await database.query("select count(*) as count from n")[0].decode("count")
    }

    private func withConnection(_ body: (Connection) async throws -> Void) async throws {
        try await TestServer.shared.withSharedDatabase { try await $0.withConnection(body) }
    }

    private func withTable(_ body: (TestDatabase, Connection) async throws -> Void) async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.query("create table n (i int)")
            try await database.withConnection { try await body(database, $0) }
        }
    }
}
