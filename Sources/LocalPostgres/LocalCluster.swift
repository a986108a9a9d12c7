import Glibc

/// A private PostgreSQL cluster in a folder of its own, started on demand.
///
/// It goes on running after the process that started it has ended, until somebody calls `stop`. Nothing but
/// processes is known here: what is said over the connection is the caller's affair.
///
/// In `home` lie `data` (the cluster, PGDATA), `log` (what the server says), `lock`, and, when its path is
/// short enough for a Unix socket, `run` with the socket.
///
/// Whoever may enter the socket directory is superuser: authentication is `trust`. That is safe because the
/// directory belongs to the server's OS user with mode 0700 and the server listens on no TCP port.
public struct LocalCluster: Sendable {
    /// Absolute path, symbolic links resolved.
    public let home: String
    /// PostgreSQL settings, by name, that go into the configuration when the cluster is created. They do
    /// not change a cluster that is already there. Where the server listens is not up to them.
    public let settings: [String: String]

    let socket: ServerSocket

    /// How long a server may take to come up, or to go, before that is an error.
    package static let serverTimeLimit: Duration = .seconds(60)

    /// Superuser of the cluster, and the name of its database.
    package static let role = "quakes"

    /// Touches nothing on disk.
    public init(home: String, settings: [String: String] = [:]) {
        self.home = FileSystem.resolved(home)
        self.settings = settings
        socket = ServerSocket(home: self.home)
    }

    /// Where the cluster lives unless told otherwise: QUAKES_HOME when set; as root /var/lib/quakes; else
    /// `quakes` in the user's data folder ($XDG_DATA_HOME, or ~/.local/share: XDG Base Directory
    /// Specification, by which a relative path does not count).
    public static func defaultHome(environment: [String: String]) -> String {
        defaultHome(environment: environment, userID: geteuid())
    }

    static func defaultHome(environment: [String: String], userID: uid_t) -> String {
        if let home = environment["QUAKES_HOME"], !home.isEmpty { return home }
        if userID == 0 { return "/var/lib/quakes" }
        if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return "\(data)/quakes" }
        let named = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        let user = named ?? ServerAccount.homeDirectory(of: userID) ?? "/tmp/quakes-\(userID)"
        return "\(user)/.local/share/quakes"
    }

    /// Absolute path of the directory that holds the server's Unix socket, at most 107 bytes with it.
    /// A home whose path is too long has its socket in a private directory below /tmp.
    public var socketDirectory: String { socket.directory }

    /// A connection URL for libpq and psql. It holds no password, because there is none.
    public func url(database: String = "quakes") -> String {
        // The port stands in it because libpq would otherwise obey the caller's PGPORT.
        "postgresql:///\(Self.percentEncoded(database))?host=\(Self.percentEncoded(socketDirectory))"
            + "&port=\(ServerSocket.port)&user=\(Self.role)"
    }

    /// Absolute path of a PostgreSQL program (`psql`, `pg_dump`) of the cluster's own major version, or,
    /// while there is no cluster yet, of the version it would be created with.
    public func program(_ name: String) async throws -> String {
        let version = try majorVersion()
        return try await PostgresBinaries.find(majorVersion: version).path(of: name)
    }

    package var data: String { "\(home)/data" }
    var log: String { "\(home)/log" }
    package var lock: String { "\(home)/lock" }

    /// The version that made the data; nil when there is none yet.
    func majorVersion() throws(LocalPostgresError) -> Int? {
        guard try FileSystem.entry(data) != nil else { return nil }
        let text = try FileSystem.read("\(data)/PG_VERSION")?.prefix(while: { $0 != "\n" })
        guard let version = text.flatMap({ Int($0) }) else { throw .notACluster(data: data) }
        return version
    }

    /// Refuses data whose files this user's server could not read.
    func checkOwner(_ account: ServerAccount) throws(LocalPostgresError) {
        guard let entry = try FileSystem.entry(data), entry.owner != account.userID else { return }
        throw .foreignOwner(path: data, owner: entry.owner, expected: account.userID)
    }

    /// RFC 3986, 2.1: everything but the unreserved characters.
    private static func percentEncoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                encoded.append(byte)
            default:
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
