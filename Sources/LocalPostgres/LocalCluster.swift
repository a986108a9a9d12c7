import FoundationEssentials
import Glibc

/// A private PostgreSQL cluster in its own folder, started on demand.
///
/// The server keeps running after the process that started it has ended, until `stop` is called. Anyone who may enter the socket
/// directory is superuser, because authentication is `trust`. That is safe: the directory belongs to the server's OS user and has
/// mode 0700, and the server listens on no TCP port.
///
/// `home` contains `data` (the cluster, PGDATA), `log` (the server's messages) and `lock`. It also contains the socket's
/// directory `run`, unless the path is too long for a Unix socket or contains special characters (`ServerSocket`).
public struct LocalCluster: Sendable {
    /// An absolute path without symbolic links.
    public let home: String
    /// Lines for PostgreSQL's configuration. They are written when the cluster is created, and do not change an existing
    /// cluster. They cannot change where the server listens.
    package let configuration: String

    let socket: ServerSocket

    /// How long a server may take to start or to stop. A server that takes longer is an error.
    package static let serverTimeLimit: Duration = .seconds(60)

    /// The name of the cluster's superuser, and of its database.
    package static let role = "quakes"

    public init(home: String, configuration: String = "") {
        self.home = FileSystem.resolved(home)
        self.configuration = configuration
        socket = ServerSocket(home: self.home)
    }

    /// The default home of the cluster: QUAKES_HOME if it is set; /var/lib/quakes for root; otherwise `quakes` in the user's data
    /// folder. That folder is $XDG_DATA_HOME, or else ~/.local/share. As the XDG Base Directory Specification requires, a
    /// relative $XDG_DATA_HOME is ignored.
    public static func defaultHome(environment: [String: String], userID: uid_t = geteuid()) -> String {
        if let home = environment["QUAKES_HOME"], !home.isEmpty { return home }
        if userID == 0 { return "/var/lib/quakes" }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/quakes" }
        let named = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let user = named ?? FileManager.default.homeDirectoryForCurrentUser.path
        return "\(user)/.local/share/quakes"
    }

    /// Absolute path of the directory that contains the server's Unix socket. The path of the socket has at most 107 bytes. If
    /// the path of `home` is too long or contains special characters, this is a private directory below /tmp.
    public var socketDirectory: String { socket.directory }

    /// A connection URL for libpq and psql. The URL contains no password, because the cluster has none.
    public func url(database: String = "quakes") -> String {
        // The URL names the port because libpq would otherwise use the caller's PGPORT.
        "postgresql:///\(Self.percentEncoded(database))?host=\(Self.percentEncoded(socketDirectory))"
            + "&port=\(ServerSocket.port)&user=\(Self.role)"
    }

    /// Absolute path of a PostgreSQL program (`psql`, `pg_dump`) of the cluster's major version. If there is no cluster yet, the
    /// program has the version with which the cluster would be created.
    public func program(_ name: String) async throws -> String {
        let version = try majorVersion()
        return try await PostgresBinaries.find(majorVersion: version).path(of: name)
    }

    package var data: String { "\(home)/data" }
    var log: String { "\(home)/log" }
    package var lock: String { "\(home)/lock" }

    /// The major version of PostgreSQL that created the data; nil if there are no data.
    func majorVersion() throws(LocalPostgresError) -> Int? {
        guard try FileSystem.entry(data) != nil else { return nil }
        let text = try FileSystem.read("\(data)/PG_VERSION")?.prefix(while: { $0 != "\n" })
        guard let version = text.flatMap({ Int($0) }) else {
            throw LocalPostgresError(
                """
                Cannot start the cluster in \(data): the directory has no readable PG_VERSION, so it is not \
                a PostgreSQL cluster. It was not touched. Move it away, or set QUAKES_HOME to another folder.
                """)
        }
        return version
    }

    /// Throws if the data belong to another user than `account`, because a server that runs as `account` could not read them.
    func checkOwner(_ account: ServerAccount) throws(LocalPostgresError) {
        guard let entry = try FileSystem.entry(data), entry.owner != account.userID else { return }
        throw .foreignOwner(path: data, owner: entry.owner, expected: account.userID)
    }

    /// Encodes everything but the unreserved characters (RFC 3986, 2.1).
    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte -> String in
            let character = Character(UnicodeScalar(byte))
            if character.isAlphanumeric || "-._~".contains(character) { return String(character) }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
