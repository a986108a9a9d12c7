import Glibc

extension LocalCluster {
    /// Creates the cluster in a directory next to `data`, and renames that directory to `data` once settings, role and database
    /// are complete. If this process is killed before that, the next creation removes the directory.
    func create(with tools: ServerTools) async throws {
        let unfinished = "\(home)/data.new"
        try FileSystem.removeTree(unfinished)
        do {
            try FileSystem.createPrivateDirectory(unfinished, for: tools.account)
            try await initialize(unfinished, with: tools)
            // If a setting occurs twice, the last one counts.
            try FileSystem.append(
                configuration + "listen_addresses = ''\n", to: "\(unfinished)/quakes.conf",
                for: tools.account)
            try FileSystem.append(
                "\n# The settings of the quakes cluster:\ninclude 'quakes.conf'\n",
                to: "\(unfinished)/postgresql.conf", for: tools.account)
            try await createDatabase(in: unfinished, with: tools)
            try FileSystem.check(rename(unfinished, data) == 0, "put the new cluster in place as", data)
        } catch {
            // If this clean-up fails, the next creation removes the directory, or reports why it cannot.
            do { try FileSystem.removeTree(unfinished) } catch {}
            throw error
        }
    }

    /// Every cluster sorts rows by bytes and stores texts in UTF-8, so that all machines give the same results.
    private func initialize(_ directory: String, with tools: ServerTools) async throws {
        var arguments = [
            "-D", directory, "-U", Self.role, "-A", "trust", "-E", "UTF8",
            "--locale", Self.locale, "--lc-collate", "C", "--no-instructions",
        ]
        if isDisposable { arguments.append("--no-sync") }
        try await run("\(tools.binaries.directory)/initdb", arguments, with: tools, named: "initdb")
    }

    /// Creates the database in single-user mode, before anyone can connect. This mode reads the same configuration as the server,
    /// so if PostgreSQL refuses a setting, the creation fails here, and the output names the setting.
    private func createDatabase(in directory: String, with tools: ServerTools) async throws {
        // The shell's standard input is the lock's descriptor. The shell keeps it open while postgres reads the statement.
        let script = #"echo 'CREATE DATABASE \#(Self.role)' | "$@""#
        let arguments = [
            "-c", script, "sh", "\(tools.binaries.directory)/postgres", "--single", "-D", directory,
            "-c", "exit_on_error=on", "postgres",
        ]
        try await run("/bin/sh", arguments, with: tools, named: "postgres --single")
    }

    private func run(
        _ path: String, _ arguments: [String], with tools: ServerTools, named name: String
    ) async throws {
        let outcome = try await ServerProgram(path, arguments, as: tools.account).run(holding: tools.lock)
        guard outcome.succeeded else {
            throw LocalPostgresError.creationFailed(home: home, program: name, output: outcome.output)
        }
    }

    /// A cluster without fsync can be lost at any time, so its creation does not need to wait for the disk.
    private var isDisposable: Bool { configuration.contains("fsync = 'off'\n") }

    /// C.UTF-8, which defines upper and lower case beyond ASCII, or C if the system does not have that locale.
    private static var locale: String {
        guard let locale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil) else { return "C" }
        freelocale(locale)
        return "C.UTF-8"
    }
}
