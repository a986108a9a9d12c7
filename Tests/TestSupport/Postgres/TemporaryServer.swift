import LocalPostgres

/// A server for a single test that affects the whole server: for example, a test that depends on its WAL, changes its settings or
/// crashes it.
public struct TemporaryServer: Sendable {
    private let temporary: TemporaryCluster
    public var cluster: LocalCluster { temporary.cluster }
    /// The URL of its database.
    public var url: String { cluster.url() }

    /// Starts the server. It is removed when the last reference is dropped.
    public static func start(settings: [String: String] = [:]) async throws -> TemporaryServer {
        TemporaryServer(temporary: try await startCluster(settings: settings))
    }

    /// Starts the cluster of such a server, for a test that waits until the cluster is removed.
    package static func startCluster(settings: [String: String] = [:]) async throws -> TemporaryCluster {
        try await unused.value.startCopy(settings: settings)
    }

    /// A stopped cluster. Every temporary server starts with a copy of its files.
    private static let unused = Task {
        let temporary = try await TemporaryCluster.start()
        try await temporary.cluster.stop()
        return temporary
    }
}
