import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

@Suite("Starting and stopping a local cluster")
struct StartTests {
    @Test("A cluster is created once, found running, stopped, and started again")
    func lifeCycle() async throws {
        try await withCluster { cluster in
            #expect(try await cluster.status() == .absent)
            #expect(try await cluster.stop() == false)
            #expect(try await cluster.start() == .created)
            #expect(try await cluster.start() == .alreadyRunning)
            #expect(try await cluster.query("CREATE TABLE kept AS SELECT 7 AS n; SELECT n FROM kept") == "7")

            let pid = try await cluster.pid()
            #expect(try await cluster.stop())
            try await waitUntil { !lives(pid) }
            guard case .stopped(let version) = try await cluster.status() else {
                Issue.record("not stopped")
                return
            }
            #expect(PostgresBinaries.supported.contains(version))
            #expect(try await cluster.stop() == false)

            #expect(try await cluster.start() == .started)
            #expect(try await cluster.query("SELECT n FROM kept") == "7")
        }
    }

    @Test("The database quakes is UTF-8, sorts by bytes, and belongs to the superuser quakes")
    func database() async throws {
        try await withRunningCluster { cluster in
            let facts = try await cluster.query(
                """
                SELECT current_database(), current_user, usesuper, pg_encoding_to_char(encoding),
                       datcollate, lower('ÅSO')
                FROM pg_database, pg_user WHERE datname = current_database() AND usename = current_user
                """)
            #expect(facts == "quakes|quakes|t|UTF8|C|åso")
        }
    }

    @Test("Concurrent starts create one cluster, and all of them succeed")
    func concurrentStarts() async throws {
        try await withCluster { cluster in
            let starts = try await withThrowingTaskGroup { group in
                for _ in 0..<6 { group.addTask { try await cluster.start() } }
                return try await group.reduce(into: [LocalCluster.Start]()) { $0.append($1) }
            }
            #expect(starts.count { $0 == .created } == 1)
            #expect(starts.count { $0 == .alreadyRunning } == 5)

            try await cluster.stop()
            async let one = cluster.start()
            async let other = cluster.start()
            let again = try await [one, other]
            #expect(again.contains(.started) && again.contains(.alreadyRunning))
        }
    }

    @Test("Every shutdown mode stops the server", arguments: [SIGTERM, SIGINT, SIGQUIT])
    func stopModes(_ signal: Int32) async throws {
        try await withRunningCluster { cluster in
            let stopped = try await cluster.stop(signal: signal)
            #expect(stopped)
            #expect(try await cluster.start() == .started)
        }
    }

    @Test("The server gets the configuration, but never opens a TCP port")
    func configuration() async throws {
        let settings = ["max_connections": "33", "listen_addresses": "*", "port": "5433"]
        try await withRunningCluster(settings: settings) { cluster in
            // The cluster was created with fsync off and 200 connections. A later setting of the same name takes effect.
            let fsync = try await cluster.query("SHOW fsync")
            #expect(fsync == "off")
            #expect(try await cluster.query("SHOW max_connections") == "33")
            #expect(try await cluster.query("SHOW listen_addresses") == "")
            #expect(try await cluster.query("SHOW port") == "5432")
        }
    }

    @Test("If PostgreSQL refuses a setting, the creation fails, names the setting and leaves nothing behind")
    func refusedSetting() async throws {
        try await withCluster(settings: ["shared_buffers": "lots"]) { cluster in
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            #expect("\(error!)".contains("shared_buffers"), "\(error!)")
            #expect(!exists(cluster.data) && !exists("\(cluster.home)/data.new"))
        }
    }

    @Test("If the server refuses to start, the error shows the last lines of its log")
    func refusedStart() async throws {
        try await withRunningCluster { cluster in
            try await cluster.stop()
            try FileSystem.append(
                "max_connections = nonsense\n", to: "\(cluster.data)/quakes.conf", for: .current())
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            let heading = "Last lines of \(cluster.home)/log:"
            let log = "\(error!)".split(separator: heading).dropFirst().last
            #expect(log?.contains("max_connections") == true, "\(error!)")
            #expect("\(error!)".contains("nonsense"))
        }
    }

    @Test("psql of the cluster's version is found; a missing program is named in the error")
    func program() async throws {
        try await withCluster { cluster in
            #expect(try await cluster.program("psql").hasSuffix("/psql"))
            let directory = try await PostgresBinaries.find().directory
            let error = await #expect(throws: LocalPostgresError.self) {
                try await cluster.program("pg_nothing")
            }
            for part in ["pg_nothing in \(directory).", "apt-get install"] {
                #expect("\(error!)".contains(part), "\(error!)")
            }
        }
    }
}
