import Glibc
import LocalPostgres

/// A running cluster for tests and benchmarks, in a fresh folder below the temporary directory.
///
/// It is fast because it is careless: a power cut would ruin it. Server and folder go when `remove` is
/// called, when the last reference is dropped, and when the process ends, in whatever way, `kill -9`
/// included.
public final class TemporaryCluster: Sendable {
    /// The cluster; it is running. A test may stop and start it as it likes.
    public let cluster: LocalCluster

    private let folder: String
    private let watchdog: Watchdog

    /// What makes it fast. The caller's settings come behind these, and the last one of a name counts.
    package static let configuration = """
        fsync = 'off'
        synchronous_commit = 'off'
        full_page_writes = 'off'
        max_connections = '200'
        shared_buffers = '128MB'

        """

    /// Settings as lines of a configuration. No value may have a quote or a backslash.
    package static func lines(_ settings: [String: String]) -> String {
        settings.map { "\($0) = '\($1)'\n" }.sorted().joined()
    }

    /// Creates and starts a cluster, in about a second.
    ///
    /// - Throws: `LocalPostgresError`, or CancellationError; nothing stays behind then either.
    public static func start(settings: [String: String] = [:]) async throws -> TemporaryCluster {
        try await start(in: makeFolder(), settings: settings)
    }

    package static func start(
        in folder: String, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await guarded(in: folder, settings: settings).prepared { try await $0.start() }
    }

    /// This one, once `body` has prepared the cluster. If that fails, nothing stays behind.
    func prepared(by body: (LocalCluster) async throws -> Void) async throws -> TemporaryCluster {
        do {
            try await body(cluster)
        } catch {
            await remove()
            throw error
        }
        return self
    }

    /// A cluster that is still to be created in `folder`, or deeper in it, already guarded: before there is
    /// anything to take away, so that no moment is unwatched. All of `folder` will go.
    package static func guarded(
        in folder: String, subfolder: String = "", settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        let cluster = LocalCluster(
            home: subfolder.isEmpty ? folder : "\(folder)/\(subfolder)",
            configuration: configuration + lines(settings))
        let watchdog = try await Watchdog(guarding: cluster, in: folder)
        return TemporaryCluster(cluster: cluster, folder: folder, watchdog: watchdog)
    }

    private init(cluster: LocalCluster, folder: String, watchdog: Watchdog) {
        self.cluster = cluster
        self.folder = folder
        self.watchdog = watchdog
    }

    /// Stops the server and removes the folder; returns when both are gone. A second call does nothing.
    ///
    /// False when something was still there after a minute; the watchdog goes on trying.
    @discardableResult
    public func remove() async -> Bool {
        watchdog.release()
        let places = [folder, cluster.socketDirectory]
        do {
            // Also when the caller is cancelled: that is when things get removed.
            return try await uncancelled {
                try await poll(upTo: LocalCluster.serverTimeLimit) {
                    places.allSatisfy { access($0, F_OK) != 0 }
                }
            }
        } catch {
            return false
        }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A fresh folder that the server's user may enter: in TEST_CLUSTERS, else in TMPDIR.
    package static func makeFolder() throws(LocalPostgresError) -> String {
        let parent = variable("TEST_CLUSTERS") ?? variable("TMPDIR") ?? "/tmp"
        var template = Array("\(parent)/quakes-XXXXXX".utf8CString)  // mkdtemp replaces the six X
        guard mkdtemp(&template) != nil else {
            throw .fileSystem(operation: "create a temporary directory in", path: parent, code: errno)
        }
        let home = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // As root, the server's user has to pass through.
        guard geteuid() != 0 || chmod(home, 0o711) == 0 else {
            throw .fileSystem(operation: "set the mode of", path: home, code: errno)
        }
        return home
    }
}
