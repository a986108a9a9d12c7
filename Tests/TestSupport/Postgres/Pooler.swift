import Foundation
import Glibc
import LocalPostgres

/// A real pgbouncer in front of a server, on a Unix socket. It ends when the last reference is dropped, and also when this
/// process ends, even by a crash.
public final class Pooler: Sendable {
    private let directory: String
    private let server: String
    private let script: TiedScript

    public static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/pgbouncer")

    public enum Mode: String, Sendable { case session, transaction }

    /// Runs pgbouncer until standard input ends, then removes its folder. pgbouncer refuses to run as root.
    private static let script = #"""
        trap '' HUP INT TERM
        as=
        if [ "$(id -u)" = 0 ]; then
            chown -R postgres "$1"
            as='setpriv --reuid postgres --regid postgres --init-groups --'
        fi
        $as pgbouncer -q "$1/pgbouncer.ini" >/dev/null 2>&1 &
        cat >/dev/null
        kill -KILL $!
        rm -rf -- "$1"
        """#

    /// - Parameter settings: lines for pgbouncer.ini, such as `server_round_robin = 1`.
    public static func start(
        _ mode: Mode, before cluster: LocalCluster, settings: [String] = []
    ) async throws -> Pooler {
        let folder = try TemporaryCluster.makeFolder()
        let lines =
            [
                "[databases]", "* = host=\(cluster.socketDirectory) port=\(ServerSocket.port)", "[pgbouncer]",
                "listen_addr =", "listen_port = \(ServerSocket.port)", "unix_socket_dir = \(folder)",
                "logfile = \(folder)/log", "auth_type = trust", "auth_file = \(folder)/users",
                "pool_mode = \(mode.rawValue)",
            ] + settings
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: "\(folder)/pgbouncer.ini"))
        try Data("\"\(LocalCluster.role)\" \"\"\n".utf8).write(to: URL(filePath: "\(folder)/users"))
        let pooler = Pooler(
            folder, cluster.socketDirectory, try await TiedScript("pooler", script, [folder]))
        try await waitUntil { pooler.answers }
        return pooler
    }

    private init(_ directory: String, _ server: String, _ script: TiedScript) {
        (self.directory, self.server, self.script) = (directory, server, script)
    }

    /// The same database of the server, reached through the pooler.
    public func database(_ database: TestDatabase) -> TestDatabase {
        TestDatabase(url: database.url.replacing(encoded(server), with: encoded(directory)))
    }

    private func encoded(_ path: String) -> String { path.replacing("/", with: "%2F") }

    private var answers: Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) {
            $0.copyBytes(from: "\(directory)/.s.PGSQL.\(ServerSocket.port)".utf8)
        }
        let socket = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(socket) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}
