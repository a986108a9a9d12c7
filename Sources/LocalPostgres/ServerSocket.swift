import Glibc

/// The Unix socket of a cluster: its path, and a check whether a server is listening there.
package struct ServerSocket: Sendable, Equatable {
    package static let port = 5432
    /// On Linux, sockaddr_un has 108 bytes for the path, including the final NUL (unix(7)).
    static let longestPath = 107

    let directory: String

    var path: String { "\(directory)/.s.PGSQL.\(Self.port)" }

    /// The socket is below the home directory if its path is short enough and contains no special characters. Otherwise it is in
    /// a directory below /tmp. The name of that directory is short, and made of the user's ID and a hash of the home's path, so
    /// that every process computes the same name.
    init(home: String) {
        let inHome = "\(home)/run"
        let fits = "\(inHome)/.s.PGSQL.\(Self.port)".utf8.count <= Self.longestPath
        // unix_socket_directories is a list, in which commas and quotes have a special meaning.
        directory =
            fits && inHome.allSatisfy { $0.isAlphanumeric || "/._-+@".contains($0) }
            ? inHome : "/tmp/quakes-\(geteuid())-\(String(Self.hash(home), radix: 36))"
    }

    /// FNV-1a with 64 bits. Unlike Hasher, it gives the same value in every process.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0100_0000_01b3 }
    }

    /// Whether the cluster's server is listening. A full queue of connections also means that a server is listening. In a directory
    /// of another user, that user's server might listen.
    func accepts() -> Bool {
        // A server can't be in a directory that can't be read, or belong to a user that does not exist.
        guard let entry = try? FileSystem.entry(directory), let account = try? ServerAccount.current(),
            entry.isDirectory, entry.owner == account.userID
        else { return false }
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        return result == 0 || errno == EAGAIN
    }
}

extension Character {
    /// Whether the character is an ASCII letter or digit.
    var isAlphanumeric: Bool { isASCII && (isLetter || isNumber) }
}
