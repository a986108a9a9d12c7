import Logging
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Server errors")
struct PostgresErrorTests {
    @Test("An error is one line with operation, message, SQLSTATE and remedy")
    func oneLine() async throws {
        try await withConnection { connection in
            // The transaction is never committed, so the role disappears with the connection.
            try await connection.execute(
                script: "begin; create role reader; set role reader", to: "become a reader")
            let error = try await postgresError {
                try await connection.execute(script: "create table public.mine ()", to: "create a table")
            }
            #expect(
                "\(error)"
                    == "cannot create a table: permission denied for schema public (SQLSTATE 42501); grant the role the missing privilege"
            )
        }
    }

    static let refusals = [
        "select 'sesame'::int", "select '99sesame'::float8", "select '77sesame'::date",
        "select 'sesame'::timestamptz",
        "select '2147483648'::int", "select '9e999'::float8", "select 'sesame'::uuid",
        "select '{\"sesame'::jsonb",
        "select '{sesame'::int[]", "select array['a']::text[] || '{\"sesame\"'", "select 'sesame'::bool",
        "select now() at time zone 'sesame'", "select to_date('sesame', 'YYYY')", "select 'sesame'::interval",
        "set timezone = 'sesame'", "select '\"sesame'::int", "select decode('sesame!', 'hex')",
        "select e'\u{301}sesame'::int", "select '13sesame'::money", "select chr(0)", "select 'a' ~ '(sesame'",
        "select '2147483648sesame'::oid", "select 'sesame'::inet", "select '(1,sesame'::point",
    ]

    @Test("A refused value does not appear in the error", arguments: refusals)
    func refusedValue(_ statement: String) async throws {
        try await withConnection { connection in
            let error = try await postgresError {
                try await connection.execute(script: statement, to: "convert")
            }
            #expect(error.isRefusedValue)
            #expect(
                !"\(error)".contains("sesame") && !"\(error)".contains("2147483648")
                    && !"\(error)".contains("9e999"))
        }
    }

    @Test("A message without its values still says what is wrong")
    func refusedValueMessage() {
        #expect(
            withoutValues(#"value "7\"7" is out of range for type integer"#)
                == "value … is out of range for type integer")
        #expect(
            withoutValues(#"ungültige Eingabesyntax für Typ integer: „x“"#)
                == "ungültige Eingabesyntax für Typ integer: …")
        #expect(
            withoutValues("invalid byte sequence for encoding \"UTF8\": 0xe9 0x41")
                == "invalid byte sequence for encoding …: …")
        #expect(withoutValues("division by zero") == "division by zero")
    }

    @Test("The error names a violated constraint, but not the row")
    func violation() async throws {
        try await withConnection { connection in
            try await connection.execute(
                script:
                    """
                    create temporary table t (
                        code text primary key check (code <> 'bad sesame'), n text not null)
                    """,
                to: "create")
            try await connection.execute("insert into t values ('sesame', '')", to: "insert")
            for (values, sqlState) in [
                ("'sesame', ''", "23505"), ("'bad sesame', ''", "23514"), ("'other sesame', null", "23502"),
            ] {
                let error = try await postgresError {
                    try await connection.execute("insert into t values (\(unescaped: values))", to: "insert")
                }
                #expect(error.sqlState == sqlState)
                #expect(error.isRefusedRow && !error.isRetryable)
                #expect(!"\(error)".contains("sesame"))
                #expect(sqlState != "23514" || error.message.contains("\"t_code_check\""))
            }
        }
    }

    @Test("A bound value never appears in an error")
    func boundValue() async throws {
        try await withConnection { connection in
            for query in ["select \("sesame")::int", "select \("sesame") + 1", "select \("sesame")::text[]"]
                as [Query]
            {
                let error = try await postgresError { try await connection.query(query, to: "convert") }
                #expect(!"\(error)".contains("sesame"))
            }
        }
    }

    @Test("A value that exceeds a limit of the server counts as a refused value")
    func programLimit() async throws {
        try await withConnection { connection in
            try await connection.execute(
                script: "create temporary table t (code text primary key)", to: "create")
            let error = try await postgresError {
                try await connection.execute(
                    "insert into t select string_agg(md5(i::text), '') from generate_series(1, 1000) i",
                    to: "insert")
            }
            #expect(error.sqlState == "54000")
            #expect(error.isRefusedValue)
        }
    }

    @Test(
        "An object that does not exist gives an undefined-object error",
        arguments: [
            "select from nowhere", "select nothing from pg_class", "select nothing()",
            "create table nowhere.t ()",
        ])
    func undefinedObject(_ statement: String) async throws {
        try await withConnection { connection in
            let error = try await postgresError {
                try await connection.execute(script: statement, to: "look")
            }
            #expect(error.isUndefinedObject)
        }
    }

    /// one:   locks 1 ─────────── waits for 2 ─────────┬─ one of them fails, the other continues
    /// other:          locks 2 ─────────── waits for 1 ┘
    @Test("The transaction that a deadlock ends can be retried; the other one succeeds")
    func deadlock() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.query("create table t as select generate_series(1, 2) as i")
            try await database.withConnection { one in
                try await database.withConnection { other in
                    for connection in [one, other] {
                        try await connection.execute(
                            script: "set deadlock_timeout = '50ms'; begin", to: "begin")
                    }
                    try await one.execute("update t set i = i where i = 1", to: "lock 1")
                    try await other.execute("update t set i = i where i = 2", to: "lock 2")
                    async let first = outcome {
                        try await one.execute("update t set i = i where i = 2", to: "lock 2")
                    }
                    async let second = outcome {
                        try await other.execute("update t set i = i where i = 1", to: "lock 1")
                    }
                    let errors = await [first, second].compactMap { $0 }
                    #expect(errors.map(\.sqlState) == ["40P01"])
                    #expect(errors.map(\.isRetryable) == [true])
                }
            }
        }
    }

    /// one:   snapshot ──────────────────── updates the same row: fails
    /// other:          updates ─ commits
    @Test("A serialization failure can be retried")
    func serialisationFailure() async throws {
        try await TestServer.shared.withEmptyDatabase { database in
            try await database.query("create table t as select 1 as i")
            try await database.withConnection { one in
                let error = try await postgresError {
                    try await one.transaction(.serializable, to: "count up") {
                        try await one.query("select i from t", to: "read")
                        try await database.query("update t set i = i + 1")
                        try await one.execute("update t set i = i + 1", to: "write")
                    }
                }
                #expect(error.sqlState == "40001")
                #expect(error.isRetryable)
                try await one.expectUsable()
            }
        }
    }

    @Test("A terminated connection counts as lost, and every later call reports the reason")
    func terminated() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let pid = try await backend(of: connection)
                try await database.query("select pg_terminate_backend(\(Int(pid))::int, 5000)")
                let error = try await postgresError { try await connection.query("select 1", to: "ask") }
                #expect(error.connectionLost)
                #expect(error.sqlState == "57P01")
                for _ in 0..<2 {
                    let later = try await postgresError {
                        try await connection.query("select 1", to: "ask again")
                    }
                    #expect(later.connectionLost)
                    #expect(
                        "\(later)"
                            == "cannot ask again: the connection is closed: terminating connection due to administrator command"
                    )
                }
            }
        }
    }

    @Test("The error of a statement whose connection is terminated gives the SQLSTATE")
    func terminatedWhileRunning() async throws {
        try await withConnection { connection in
            let error = try await postgresError {
                try await connection.query(
                    "select pg_terminate_backend(pg_backend_pid()), pg_sleep(3600)", to: "end it all")
            }
            #expect(error.sqlState == "57P01")
            #expect(error.connectionLost)
        }
    }

    @Test("A connection that the server closes after an idle timeout counts as lost")
    func idleTimeout() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.withConnection { connection in
                let pid = try await backend(of: connection)
                let error = try await postgresError {
                    try await connection.transaction(to: "dream") {
                        try await connection.execute(
                            script: "set idle_in_transaction_session_timeout = '50ms'", to: "set")
                        try await waitUntil {
                            try await database.query("select from pg_stat_activity where pid = \(Int(pid))")
                                .isEmpty
                        }
                    }
                }
                #expect(error.sqlState == "25P03", "\(error)")
                #expect(error.connectionLost)
            }
        }
    }

    @Test(
        "An error is temporary if the server is away, read-only, busy or full, but not if it refuses the statement"
    )
    func passing() {
        func isPassing(_ sqlState: String?, connectionLost: Bool = false) -> Bool {
            PostgresError(
                operation: "read", sqlState: sqlState, message: "no", connectionLost: connectionLost
            ).isPassing
        }
        for state in ["08006", "25006", "40001", "53100", "55P03", "57014", "57P01", "58030"] {
            #expect(isPassing(state), "\(state)")
        }
        for state in ["22012", "23505", "25001", "28P01", "3D000", "42501", "42P01", "54000", "XX000"] {
            #expect(!isPassing(state), "\(state)")
            #expect(isPassing(state, connectionLost: true), "\(state)")
        }
        #expect(isPassing(nil, connectionLost: true) && !isPassing(nil))
    }

    private func outcome(_ body: () async throws -> Int) async -> PostgresError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error as? PostgresError ?? PostgresError(operation: "\(error)", message: "")
        }
    }

    private func withConnection(_ body: (Connection) async throws -> Void) async throws {
        try await TestServer.shared.withSharedDatabase { try await $0.withConnection(body) }
    }
}
