import TestSupport
import Testing

@testable import LocalPostgres

@Suite("Errors for an operator at 3 a.m.")
struct ErrorTextTests {
    @Test(
        "Every error names the subject and the remedy",
        arguments: [
            (.foreignOwner(path: "/q/data", owner: 7, expected: 8), ["/q/data", "7", "8", "QUAKES_HOME"]),
            (
                .creationFailed(home: "/q", program: "initdb", output: "no room\n"),
                ["/q", "initdb", "no room"]
            ),
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

    @Test(
        "For a version that is not installed, the error names the folders that were searched",
        arguments: [
            (nil, ["15 to 18", "apt-get install postgresql"]),
            (99, ["PostgreSQL 99,", "not touched", "postgresql-99", "pg_upgrade", "QUAKES_HOME"]),
        ] as [(Int?, [String])])
    func noBinaries(_ version: Int?, _ parts: [String]) async throws {
        let error = await #expect(throws: LocalPostgresError.self) {
            try await PostgresBinaries.find(majorVersion: version, in: ["/a/bin", "/b/bin"])
        }
        for part in parts + ["Looked in: /a/bin, /b/bin."] {
            #expect("\(error!)".contains(part), "\(error!)")
        }
    }

    @Test("The folders of Debian's packages are searched, and each folder only once")
    func candidates() async {
        let folders = await PostgresBinaries.candidates(named: nil)
        #expect(folders.contains("/usr/lib/postgresql/15/bin"))
        #expect(Set(folders).count == folders.count)
    }

    @Test("If QUAKES_POSTGRES names a folder, only that folder is searched")
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
