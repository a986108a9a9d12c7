import Glibc
import Subprocess

/// The programs of one installed PostgreSQL version.
public struct PostgresBinaries: Sendable, Equatable {
    /// Absolute path of the directory that holds `postgres`, `initdb` and `pg_ctl`.
    public let directory: String
    /// 15 for PostgreSQL 15.8, as `postgres --version` tells.
    public let majorVersion: Int

    /// The major versions this project works with.
    static let supported = 14...18

    /// Finds an installed version; with `majorVersion`, only that one counts.
    ///
    /// Looks at what `pg_config --bindir` names, then at the folders in which Debian and Red Hat
    /// keep their packages, highest version first, then along PATH.
    ///
    /// - Throws: `LocalPostgresError.noBinaries`, which names every place it looked.
    public static func find(majorVersion: Int? = nil) async throws(LocalPostgresError) -> PostgresBinaries {
        var lookedIn: [String] = []
        for directory in await candidates() {
            lookedIn.append(directory)
            guard let version = await version(in: directory) else { continue }
            if majorVersion.map({ $0 == version }) ?? supported.contains(version) {
                return PostgresBinaries(directory: directory, majorVersion: version)
            }
        }
        throw .noBinaries(wanted: majorVersion, lookedIn: lookedIn)
    }

    /// The major versions that are here, highest first.
    static func installedVersions() async -> [Int] {
        var versions: Set<Int> = []
        for directory in await candidates() {
            if let version = await version(in: directory) { versions.insert(version) }
        }
        return versions.sorted(by: >)
    }

    /// Absolute path of a program of this version, `psql` for instance.
    func path(of program: String) throws(LocalPostgresError) -> String {
        let path = "\(directory)/\(program)"
        guard FileSystem.isExecutable(path) else {
            throw .noProgram(name: program, directory: directory)
        }
        return path
    }

    /// Every directory worth a look, in order of preference, none twice.
    private static func candidates() async -> [String] {
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

    /// No pg_config, or one that fails, is no error: it belongs to the development package.
    private static func pgConfigDirectory() async -> String? {
        guard let program = searchPath.map({ "\($0)/pg_config" }).first(where: FileSystem.isExecutable) else {
            return nil
        }
        return await answer(of: program, "--bindir")
    }

    /// nil when the directory does not hold all that a server needs.
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

    /// The first line a program prints; nil when it cannot be asked, which only disqualifies the candidate.
    private static func answer(of program: String, _ argument: String) async -> String? {
        do {
            // Not to be cut short: a cancelled search would claim that nothing is installed.
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
