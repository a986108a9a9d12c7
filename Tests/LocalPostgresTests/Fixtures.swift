import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

/// Runs `body` with a cluster that has not been created yet. The cluster's folder is removed afterwards, even if this process is
/// killed. `subfolder` is the path of the cluster's home in that folder.
func withCluster(
    subfolder: String = "home", settings: [String: String] = [:],
    _ body: (LocalCluster) async throws -> Void
) async throws {
    let temporary = try await TemporaryCluster.guarded(
        in: TemporaryCluster.makeFolder(), subfolder: subfolder, settings: settings)
    try await removing(temporary, after: body)
}

/// Runs `body` with a running cluster, which is removed like the cluster of `withCluster`. The cluster is a copy of an existing
/// one, because a copy takes a fraction of the time of a creation.
func withRunningCluster(
    settings: [String: String] = [:], _ body: (LocalCluster) async throws -> Void
) async throws {
    let temporary = try await TemporaryServer.startCluster(settings: settings)
    try await removing(temporary, after: body)
}

private func removing(
    _ temporary: TemporaryCluster, after body: (LocalCluster) async throws -> Void
) async throws {
    do {
        try await body(temporary.cluster)
    } catch {
        await temporary.remove()
        throw error
    }
    let removed = await temporary.remove()
    #expect(removed, "the watchdog did not remove the cluster")
}

extension LocalCluster {
    /// The output of psql for one statement, without the last newline.
    func query(_ statement: String) async throws -> String {
        let arguments = ["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, url()]
        let outcome = try await ServerProgram(try await program("psql"), arguments).run()
        #expect(outcome.succeeded, "\(outcome.output)")
        return outcome.output.hasSuffix("\n") ? String(outcome.output.dropLast()) : outcome.output
    }

    func pid() async throws -> pid_t {
        guard case .running(let pid, _) = try await status() else {
            throw NotRunning(home: home)
        }
        return pid
    }
}

struct NotRunning: Error {
    let home: String
}

func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
}

/// True if the process exists and is not a zombie.
func lives(_ pid: pid_t) -> Bool {
    exists("/proc/\(pid)/cwd") && access("/proc/\(pid)/cwd", F_OK) == 0
}

func owner(of path: String) -> uid_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_uid : .max
}

func mode(of path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}
