import LocalPostgres

/// A server of one test's own, for what concerns the whole server: WAL, crashes, settings.
public struct TemporaryServer: Sendable {
    private let temporary: TemporaryCluster
    public var cluster: LocalCluster { temporary.cluster }
    /// The URL of its database.
    public var url: String { cluster.url() }

    /// It is gone when the last reference is.
    public static func start(settings: [String: String] = [:]) async throws -> TemporaryServer {
        TemporaryServer(temporary: try await TemporaryCluster.start(settings: settings))
    }
}
