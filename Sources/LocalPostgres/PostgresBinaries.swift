import Glibc
import Subprocess

/// The programs of one installed PostgreSQL version.
public struct PostgresBinaries: Sendable, Equatable {
    public let directory: String
    /// Such as 15 for PostgreSQL 15.8; from the output of `postgres --version`.
    public let majorVersion: Int

    /// The major versions this project works with.
    static let supported = 15...18

    /// Finds an installed version. If `majorVersion` is given, only that version counts.
    ///
    /// If QUAKES_POSTGRES is set, looks only in that directory. Otherwise looks first in the directory that
    /// `pg_config --bindir` names, then in the folders of Debian's and Red Hat's packages, highest version first, and
    /// then along PATH.
    public static func find(majorVersion: Int? = nil) async throws(LocalPostgresError) -> PostgresBinaries {
        try await find(majorVersion: majorVersion, in: candidates())
    }

    static func find(
        majorVersion: Int?, in directories: [String]
    ) async throws(LocalPostgresError) -> PostgresBinaries {
        for directory in directories {
            guard let version = await version(in: directory) else { continue }
            if majorVersion.map({ $0 == version }) ?? supported.contains(version) {
                return PostgresBinaries(directory: directory, majorVersion: version)
            }
        }
        let places = directories.isEmpty ? "no directory" : directories.joined(separator: ", ")
        guard let majorVersion else {
            throw LocalPostgresError(
                """
                Cannot find the programs of PostgreSQL \(supported.lowerBound) to \(supported.upperBound) \
                (postgres, initdb, pg_ctl). Looked in: \(places). Install them: apt-get install postgresql
                """)
        }
        throw LocalPostgresError(
            """
            Cannot find PostgreSQL \(majorVersion), which made the cluster's data. Looked in: \(places). The \
            data were not touched. Install that version (apt-get install postgresql-\(majorVersion)), move \
            the data with pg_upgrade, or set QUAKES_HOME to another folder.
            """)
    }

    func path(of program: String) throws(LocalPostgresError) -> String {
        let path = "\(directory)/\(program)"
        guard FileSystem.isExecutable(path) else {
            throw LocalPostgresError(
                """
                Cannot find the program \(program) in \(directory). Install it: \
                apt-get install postgresql-client
                """)
        }
        return path
    }

    static func candidates(
        named: String? = getenv("QUAKES_POSTGRES").map { String(cString: $0) }
    ) async -> [String] {
        if let named, !named.isEmpty { return [named] }
        var directories = await pgConfigDirectory().map { [$0] } ?? []
        directories += supported.reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        directories += supported.reversed().map { "/usr/pgsql-\($0)/bin" }
        directories += searchPath
        var seen: Set<String> = []
        return directories.filter { seen.insert($0).inserted }
    }

    private static var searchPath: [String] {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    }

    /// A pg_config that is missing or fails is not an error, because it is part of the development package, which is often not
    /// installed.
    private static func pgConfigDirectory() async -> String? {
        guard let program = searchPath.map({ "\($0)/pg_config" }).first(where: FileSystem.isExecutable) else {
            return nil
        }
        return await answer(of: program, "--bindir")
    }

    private static func version(in directory: String) async -> Int? {
        let programs = ["postgres", "initdb", "pg_ctl"].map { "\(directory)/\($0)" }
        guard programs.allSatisfy(FileSystem.isExecutable) else { return nil }
        return await answer(of: programs[0], "--version").flatMap(majorVersion(from:))
    }

    /// "postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)" is 15; "18beta1" is 18.
    static func majorVersion(from text: String) -> Int? {
        text.split(separator: " ").lazy
            .filter { $0.first?.isNumber == true }
            .compactMap { Int($0.prefix(while: \.isNumber)) }
            .first
    }

    /// The first line that a program prints; nil if the program cannot run or fails. The search then ignores its directory.
    private static func answer(of program: String, _ argument: String) async -> String? {
        do {
            // The program must not be interrupted: a cancelled search would report that nothing is installed.
            let outcome = try await uncancelled {
                try await ServerProgram(program, [argument]).run()
            }
            guard outcome.succeeded else { return nil }
            return outcome.output.split(separator: "\n").first.map(String.init)
        } catch {
            return nil
        }
    }
}
