import TestSupport
import Testing

@testable import LocalPostgres

@Suite("Errors for an operator at 3 a.m.")
struct ErrorTextTests {
    @Test(
        "Every error names the subject and the remedy",
        arguments: [
            (
                .noBinaries(wanted: nil, lookedIn: ["/a/bin", "/b/bin"]),
                ["15 to 18", "/a/bin, /b/bin", "apt-get install postgresql"]
            ),
            (
                .noBinaries(wanted: 13, lookedIn: ["/a/bin"]),
                ["/a/bin", "PostgreSQL 13", "not touched", "postgresql-13", "pg_upgrade", "QUAKES_HOME"]
            ),
            (.noProgram(name: "psql", directory: "/a/bin"), ["psql", "/a/bin", "apt-get install"]),
            (.noServerAccount(name: "postgres"), ["refuses root", "useradd --system postgres"]),
            (.foreignOwner(path: "/q/data", owner: 7, expected: 8), ["/q/data", "7", "8", "QUAKES_HOME"]),
            (.notACluster(data: "/q/data"), ["/q/data", "PG_VERSION", "not touched", "Move it away"]),
            (
                .creationFailed(home: "/q", program: "initdb", output: "no room\n"),
                ["/q", "initdb", "no room"]
            ),
            (
                .startFailed(home: "/q", output: "", log: ["FATAL:  one", "two"]),
                ["/q/log", "FATAL:  one\n", "two", "start again"]
            ),
            (
                .unreachable(data: "/q/data", pid: 12, socketDirectory: "/q/run"),
                ["/q/data", "process 12", "/q/run", "kill -INT 12"]
            ),
            (
                .stopTimedOut(home: "/q", pid: 12, after: .seconds(60)),
                ["/q", "process 12", "60 s", "fast", "Stop it at once (kill -QUIT 12)"]
            ),
            (.lockTimedOut(path: "/q/lock", after: .seconds(120)), ["/q/lock", "120 s", "fuser"]),
            (
                .launchFailed(program: "/a/bin/initdb", reason: "no such thing."),
                ["/a/bin/initdb", "no such"]
            ),
            (
                .fileSystem(operation: "write", path: "/q/log", code: 28),
                ["Cannot write /q/log: No space left on device.", "QUAKES_HOME"]
            ),
        ] as [(LocalPostgresError, [String])])
    func texts(_ error: LocalPostgresError, _ parts: [String]) {
        for part in parts { #expect("\(error)".contains(part), "\(error)") }
    }

    @Test("For a version that is not installed, the error names the folders that were searched")
    func noBinaries() async throws {
        let error = await #expect(throws: LocalPostgresError.self) {
            try await PostgresBinaries.find(majorVersion: 99, in: PostgresBinaries.candidates(named: nil))
        }
        guard case .noBinaries(99, let lookedIn) = error else {
            Issue.record("another error: \(error!)")
            return
        }
        #expect(lookedIn.contains("/usr/lib/postgresql/15/bin"))
        #expect(Set(lookedIn).count == lookedIn.count)
    }

    @Test("If QUAKES_POSTGRES names a server, only that server is considered")
    func namedServer() async throws {
        let binaries = try await PostgresBinaries.find()
        #expect(await PostgresBinaries.candidates(named: binaries.directory) == [binaries.directory])
        #expect(await PostgresBinaries.candidates(named: "") == PostgresBinaries.candidates(named: nil))

        try await withCluster { cluster in
            let quakes = QuakesCommand(["QUAKES_POSTGRES": "/no/bin", "QUAKES_HOME": cluster.home])
            let outcome = try await quakes.run("database", "start")
            #expect(outcome.status != 0)
            #expect(outcome.errors.contains("Looked in: /no/bin."), "\(outcome.errors)")
        }
    }

    @Test("The installed version is found, whether or not its number is given")
    func binaries() async throws {
        let binaries = try await PostgresBinaries.find()
        #expect(try await PostgresBinaries.find(majorVersion: binaries.majorVersion) == binaries)
    }

    @Test(
        "The major version is read from the output of postgres --version",
        arguments: [
            ("postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)\n", 15),
            ("postgres (PostgreSQL) 18beta1", 18), ("postgres (PostgreSQL) 16devel", 16),
            ("postgres", nil),
        ] as [(String, Int?)])
    func majorVersion(_ text: String, _ version: Int?) {
        #expect(PostgresBinaries.majorVersion(from: text) == version)
    }
}
