import Foundation
import Glibc
import LocalPostgres

extension LocalCluster {
    /// Runs `body` while every process of the server is stopped with SIGSTOP. The kernel still accepts connections and
    /// acknowledges bytes, so a client gets neither an error nor a response.
    public func frozen<Result>(_ body: () async throws -> Result) async throws -> Result {
        let processes = try serverProcesses()
        for process in processes { kill(process, SIGSTOP) }
        defer { for process in processes { kill(process, SIGCONT) } }
        return try await body()
    }

    /// The server's processes. The postmaster comes first, so that it starts no process while the others are being stopped.
    private func serverProcesses() throws -> [pid_t] {
        let file = try String(contentsOfFile: "\(data)/postmaster.pid", encoding: .utf8)
        guard let postmaster = file.split(separator: "\n").first.flatMap({ pid_t($0) }) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        let children = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
            .filter { process in
                // A process may have ended meanwhile. In `stat`, the state and the parent's number follow the name in
                // parentheses.
                let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
                let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
                return fields.count > 1 && pid_t(fields[1]) == postmaster
            }
        return [postmaster] + children
    }
}
