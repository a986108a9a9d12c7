import Foundation
import LocalPostgres
import Subprocess

/// A real proxy in front of a server on this machine. The proxy's configuration comes from `deploy/proxies`. The proxy ends when
/// the last reference is dropped, and also when this process ends, even by a crash.
public final class ReverseProxy: Sendable {
    /// The folder of the proxies' programs; nil when they are not available.
    public static let programs = fetched("proxies")

    public enum Program: String, CaseIterable, Sendable { case nginx, haproxy, varnish }

    public let port: Int
    /// The port for TLS. Varnish does not use it.
    public var tlsPort: Int { port + 1 }
    private let tied: TiedScript

    /// Runs the program until standard input ends, then removes the program's folder, which is `$1`.
    private static let script = #"""
        trap '' HUP INT TERM
        folder=$1
        shift
        (trap - HUP INT TERM && exec "$@") >"$folder/log" 2>&1 &
        cat >/dev/null
        kill -TERM $!
        wait
        rm -rf -- "$folder"
        """#

    /// Starts a proxy that forwards to `port`. The proxy may start to listen a moment after this call.
    public init(_ program: Program, before port: Int) async throws {
        self.port = Self.freePort()
        let folder = try TemporaryCluster.makeFolder()
        let file = "\(folder)/\(program.fileName)"
        try program.configuration(from: self.port, to: port, folder).write(
            toFile: file, atomically: true, encoding: .utf8)
        try await Self.certify(folder)
        let programs = Self.programs ?? ""
        let command =
            switch program {
            case .nginx: ["nginx", "-e", "stderr", "-c", try Self.whole(file, folder)]
            case .haproxy: ["haproxy", "-db", "-f", file]
            case .varnish:
                [
                    "varnishd", "-F", "-j", "none", "-n", "\(folder)/varnish", "-T", "none", "-s",
                    "malloc,64m", "-a", "127.0.0.1:\(self.port)", "-f", file,
                ]
            }
        tied = try await TiedScript(
            program.rawValue, Self.script, [folder, "\(programs)/\(command[0])"] + command.dropFirst())
    }

    /// A free port whose next higher port is also free. The range is below Linux's default range of
    /// ephemeral ports.
    private static func freePort() -> Int {
        while true {
            let port = Int.random(in: 20_000..<32_000)
            if LoopbackSocket.isFree(port), LoopbackSocket.isFree(port + 1) { return port }
        }
    }

    /// Makes a self-signed certificate. Writes the key to a separate file, and also appends it to the certificate's file.
    private static func certify(_ folder: String) async throws {
        let result = try await Subprocess.run(
            .path("/usr/bin/openssl"),
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                "/CN=localhost", "-days", "2", "-keyout", "\(folder)/quakes.key", "-out",
                "\(folder)/quakes.pem",
            ], output: .discarded, error: .string(limit: 1 << 16))
        guard result.terminationStatus.isSuccess else { throw NoCertificate(said: result.standardError) }
        let key = try String(contentsOfFile: "\(folder)/quakes.key", encoding: .utf8)
        let certificate = try String(contentsOfFile: "\(folder)/quakes.pem", encoding: .utf8)
        try (certificate + key).write(
            toFile: "\(folder)/quakes.pem", atomically: true, encoding: .utf8)
    }

    struct NoCertificate: Error {
        let said: String
    }

    /// Writes a main configuration that includes the file `site`, and returns its path. The configuration is a short form of
    /// Debian's nginx.conf, with all paths in `folder`.
    private static func whole(_ site: String, _ folder: String) throws -> String {
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder)/\($0);"
        }
        let text = """
            daemon off; user root; worker_processes 1; pid \(folder)/pid;
            events {}
            http { access_log off; \(paths.joined(separator: " ")) include \(site); }

            """
        try text.write(toFile: "\(folder)/main.conf", atomically: true, encoding: .utf8)
        return "\(folder)/main.conf"
    }
}

extension ReverseProxy.Program {
    fileprivate var fileName: String {
        switch self {
        case .nginx: "nginx.conf"
        case .haproxy: "haproxy.cfg"
        case .varnish: "varnish.vcl"
        }
    }

    /// The program's configuration from `deploy/proxies`, with the test's ports and folder.
    fileprivate func configuration(from here: Int, to port: Int, _ folder: String) throws -> String {
        try String(contentsOf: projectFile("deploy/proxies/\(fileName)"), encoding: .utf8)
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)").replacing("\"8080\"", with: "\"\(port)\"")
            // This machine may lack IPv6 and the users and folders that Debian's packages create.
            .replacing(/(?m)^ *(?:listen \[::\]|bind :::).*\n/, with: "")
            .replacing(/(?m)^global\n(?:    .*\n)+/, with: "")
            .replacing("    log global\n", with: "").replacing("    option httplog\n", with: "")
            .replacing("listen 80;", with: "listen 127.0.0.1:\(here);")
            .replacing("listen 443 ", with: "listen 127.0.0.1:\(here + 1) ")
            .replacing("bind :80", with: "bind 127.0.0.1:\(here)")
            .replacing("bind :443", with: "bind 127.0.0.1:\(here + 1)")
            .replacing("/etc/ssl/quakes", with: "\(folder)/quakes")
            .replacing("/var/cache/nginx-quakes", with: "\(folder)/cache")
            // On a busy machine, a response may take very long.
            .replacing("timeout check 5s", with: "timeout check 1h")
    }
}
