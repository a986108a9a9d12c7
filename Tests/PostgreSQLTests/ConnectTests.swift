import Glibc
import Logging
import TestSupport
import Testing

@testable import PostgreSQL

@Suite("Connecting")
struct ConnectTests {
    @Test("The environment provides the options that are not set")
    func environment() async throws {
        try await TestServer.shared.withSharedDatabase { (database) async throws in
            let options = try database.options()
            let result = await #expect(
                processExitsWith: .success, observing: [\.standardOutputContent]
            ) {
                [
                    host = options["host"]! as String, port = options["port"]! as String,
                    name = options["dbname"]! as String
                ] in
                setenv("PGHOST", host, 1)
                setenv("PGPORT", port, 1)
                setenv("PGDATABASE", name, 1)
                setenv("PGUSER", "quakes", 1)
                let row = try await Connection.with(ConnectionOptions(), logger: .quiet) {
                    try await $0.query("select current_database()::text as name", to: "ask")[0]
                }
                print("connected to \(try row.decode("name") as String)")
                let silent = try SilentListener()
                setenv("PGHOST", "127.0.0.1", 1)
                setenv("PGPORT", "\(silent.port)", 1)
                setenv("PGCONNECT_TIMEOUT", "1", 1)
                let error = try await postgresError {
                    try await Connection.with(ConnectionOptions(), logger: .quiet) { _ in }
                }
                #expect("\(error)".contains("no answer within 1.0 seconds"))
            }
            let output = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self)
            #expect(output.contains("connected to \(options["dbname"]!)"))
        }
    }

    @Test("Connecting to a server that accepts but never answers times out, with an error that says so")
    func silentServer() async throws {
        let port = try SilentListener()
        let error = try await postgresError {
            try await Connection.with(port.options(timeout: 1), logger: .quiet) { _ in }
        }
        #expect(error.connectionLost)
        #expect("\(error)".contains("no answer within 1.0 seconds"))
    }

    @Test("If the server refuses a setting at the connection, the error names the setting and its value")
    func refusedSetting() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            var options = try database.options()
            options["options"] = "-c timezone=Mars"
            let error = try await postgresError {
                try await Connection.with(options, logger: .quiet) { _ in }
            }
            #expect("\(error)".contains("invalid value for parameter \"TimeZone\": \"Mars\""), "\(error)")
        }
    }

    @Test("A silent host does not block the hosts after it", arguments: [1, 2])
    func silentHosts(_ count: Int) async throws {
        let silent = try (0..<count).map { _ in try SilentListener() }
        try await TestServer.shared.withSharedDatabase { database in
            let options = try ServerList.options(of: database, behind: silent.map(\.port))
            try await Connection.with(options, logger: .quiet) { try await $0.expectUsable() }
        }
        withExtendedLifetime(silent) {}
    }

    @Test(
        "With prefer-standby and a silent host, a standby is found, or the primary if there is no standby"
    )
    func preferStandby() async throws {
        let silent = try SilentListener()
        let primary = try await TemporaryServer.start()
        let database = TestDatabase(url: primary.url)
        func isStandby(_ others: [String]) async throws -> Bool {
            var options = try ServerList.options(of: database, behind: [silent.port], and: others)
            options["target_session_attrs"] = "prefer-standby"
            return try await Connection.with(options, logger: .quiet) {
                try await $0.query("select pg_is_in_recovery() as standby", to: "ask")[0].decode("standby")
            }
        }
        let isAlone = try await !isStandby([])
        #expect(isAlone)
        try await withStandby(of: primary.cluster) { standby in
            let isFound = try await isStandby([standby.cluster.socketDirectory])
            #expect(isFound)
        }
        withExtendedLifetime(silent) {}
    }

    @Test("If every host fails, the error gives each reason, and the SQLSTATE of a server that refused")
    func noHost() async throws {
        let silent = try SilentListener()
        let options = try ConnectionOptions(
            "host=127.0.0.1,/nonexistent port=\(silent.port),5432 connect_timeout=1 user=sam")
        let error = try await postgresError {
            try await Connection.with(options, logger: .quiet) { _ in }
        }
        #expect(error.isOutage)
        #expect("\(error)".contains("no answer within 1.0 seconds from 127.0.0.1 port \(silent.port); "))
        #expect("\(error)".contains("/nonexistent/.s.PGSQL.5432"))

        try await TestServer.shared.withSharedDatabase { database in
            var options = try ServerList.options(of: database, behind: [silent.port])
            options["dbname"] = "nowhere"
            let error = try await postgresError { [options] in
                try await Connection.with(options, logger: .quiet) { _ in }
            }
            #expect(error.sqlState == "3D000" && !error.isOutage)
        }
    }

    @Test("A standby that does not have a new database yet does not block the primary")
    func newDatabase() async throws {
        let primary = try await TemporaryServer.start()
        try await withStandby(of: primary.cluster) { standby in
            try await TestDatabase(url: standby.url()).query("select pg_wal_replay_pause()")
            try await TestDatabase(url: primary.url).query("create database new")
            var options = try ConnectionOptions(primary.cluster.url(database: "new"))
            let own = options["host"] ?? ""
            options["host"] = "\(standby.cluster.socketDirectory),\(own)"
            options["target_session_attrs"] = "read-write"
            try await Connection.with(options, logger: .quiet) { try await $0.expectUsable() }
        }
    }

    @Test("Connecting can be cancelled")
    func cancelled() async throws {
        let port = try SilentListener()
        let connecting = Task {
            try await Connection.with(port.options(timeout: 300), logger: .quiet) { _ in }
        }
        try await waitUntil { port.hasCaller }
        connecting.cancel()
        // The connection's own time limit would throw a different error.
        await #expect(throws: CancellationError.self) { try await connecting.value }
    }

    @Test(
        "Without a server, connecting fails immediately, with an error of one line that has a remedy",
        arguments: ["host=127.0.0.1 port=1", "host=/nonexistent", "host=127.0.0.1 port=99999"])
    func nobodyThere(_ conninfo: String) async throws {
        let error = try await postgresError {
            let options = try ConnectionOptions("\(conninfo) connect_timeout=300")
            try await Connection.with(options, logger: .quiet) { _ in }
        }
        #expect(!"\(error)".contains("no answer within"))
        #expect(error.connectionLost)
        #expect(error.remedy == "is the server running there?")
        #expect(!"\(error)".contains("\n") && !"\(error)".contains("Is the server running"))
    }

    @Test(
        "The error of a refused connection has the SQLSTATE and a suitable remedy",
        arguments: [
            ("dbname", "nowhere", "3D000", "createdb nowhere"),
            ("user", "nobody_i_know", "28000", "pg_hba.conf"),
            ("options", "-c quakes=1", "42704", ""),
        ])
    func refused(_ keyword: String, _ value: String, sqlState: String, remedy: String) async throws {
        try await TestServer.shared.withSharedDatabase { database in
            var options = try database.options()
            options[keyword] = value
            let error = try await postgresError {
                try await Connection.with(options, logger: .quiet) { _ in }
            }
            #expect(error.sqlState == sqlState)
            #expect(error.connectionLost)
            #expect(remedy.isEmpty || error.remedy?.contains(remedy) == true)
            #expect(!"\(error)".contains("LOCATION") && !"\(error)".contains("\n"))
        }
    }

    @Test("The error for a wrong password does not show the password, and the right password works")
    func wrongPassword() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await requirePassword(of: "quakes_guarded", "open%sesame", in: database)
            var options = try database.options()
            options["user"] = "quakes_guarded"
            options["password"] = "shut sesame"
            let error = try await postgresError {
                try await Connection.with(options, logger: .quiet) { _ in }
            }
            #expect(error.sqlState == "28P01")
            #expect(error.remedy?.contains("password") == true)
            #expect(!"\(error)".contains("sesame"))

            options["password"] = "open%sesame"
            try await Connection.with(options, logger: .quiet) { try await $0.expectUsable() }
        }
    }

    @Test("The error for too many connections says so, and gives the remedy")
    func tooManyConnections() async throws {
        try await TestServer.shared.withSharedDatabase { database in
            try await database.query("create role quakes_limited login connection limit 1")
            var options = try database.options()
            options["user"] = "quakes_limited"
            try await Connection.with(options, logger: .quiet) { [options] _ in
                let error = try await postgresError {
                    try await Connection.with(options, logger: .quiet) { _ in }
                }
                #expect(error.sqlState == "53300")
                #expect(error.remedy?.contains("max_connections") == true)
            }
        }
    }

    /// Requires a password only of `role`, because the other tests connect without a password.
    private func requirePassword(of role: String, _ password: String, in database: TestDatabase) async throws
    {
        try await database.query("create role \(unescaped: role) login password '\(unescaped: password)'")
        let path: String = try await database.query("select current_setting('hba_file') as path")[0].decode(
            "path")
        let file = try #require(fopen(path, "w"))
        fputs("local all \(role) scram-sha-256\nlocal all all trust\n", file)
        fclose(file)
        try await database.query("select pg_reload_conf()")
        var options = try database.options()
        options["user"] = role
        // The server reloads the file at some later moment.
        try await waitUntil { [options] in
            do {
                try await Connection.with(options, logger: .quiet) { _ in }
                return false
            } catch is PostgresError {
                return true
            }
        }
    }
}

/// Lists of hosts that end with a database's server.
private enum ServerList {
    static func options(
        of database: TestDatabase, behind silent: [UInt16], and others: [String] = []
    ) throws -> ConnectionOptions {
        var options = try database.options()
        let own = (host: options["host"] ?? "", port: options["port"] ?? "")
        options["host"] =
            (silent.map { _ in "127.0.0.1" } + [own.host] + others).joined(separator: ",")
        options["port"] =
            (silent.map { "\($0)" } + [own.port] + others.map { _ in own.port }).joined(separator: ",")
        options["connect_timeout"] = "2"
        return options
    }
}

/// A local TCP port that accepts connections and never sends anything.
private final class SilentListener: Sendable {
    private let socket: Int32
    let port: UInt16

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) { [socket] in
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(socket, address, size)
                _ = listen(socket, 5)
                _ = getsockname(socket, address, &size)
            }
            return UInt16(bigEndian: $0.pointee.sin_port)
        }
        try #require(port != 0)
    }

    deinit { Glibc.close(socket) }

    var hasCaller: Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) == 1
    }

    func options(timeout: Int) throws -> ConnectionOptions {
        try ConnectionOptions(
            "host=127.0.0.1 port=\(port) connect_timeout=\(timeout) sslmode=disable user=sam")
    }
}
