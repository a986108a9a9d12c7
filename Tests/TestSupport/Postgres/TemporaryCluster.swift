import Glibc
import LocalPostgres

/// A running cluster for tests and benchmarks, in a fresh folder below the temporary directory.
///
/// It is fast because it is not durable: a power cut would ruin it. The server and the folder are removed when `remove` is
/// called, when the last reference is dropped, and when the process ends, even by `kill -9`.
public final class TemporaryCluster: Sendable {
    /// The running cluster. A test may stop and start it at will.
    public let cluster: LocalCluster

    private let folder: String
    private let watchdog: Watchdog

    /// The settings that make the cluster fast. The caller's settings follow these, and if a name occurs twice, its last setting
    /// takes effect.
    package static let configuration = """
        fsync = 'off'
        synchronous_commit = 'off'
        full_page_writes = 'off'
        max_connections = '200'
        shared_buffers = '128MB'

        """

    /// Settings as lines of a configuration file. A value must not contain a quote or a backslash.
    package static func lines(_ settings: [String: String]) -> String {
        settings.map { "\($0) = '\($1)'\n" }.sorted().joined()
    }

    /// Creates and starts a cluster, in about a second.
    ///
    /// - Throws: `LocalPostgresError` or CancellationError. Then nothing is left behind.
    public static func start(settings: [String: String] = [:]) async throws -> TemporaryCluster {
        try await start(in: makeFolder(), settings: settings)
    }

    package static func start(
        in folder: String, settings: [String: String] = [:]
    ) async throws -> TemporaryCluster {
        try await guarded(in: folder, settings: settings).prepared { try await $0.start() }
    }

    /// Prepares the cluster with `body` and returns this object. If `body` fails, everything is removed.
    func prepared(by body: (LocalCluster) async throws -> Void) async throws -> TemporaryCluster {
        do {
            try await body(cluster)
        } catch {
            await remove()
            throw error
        }
        return self
    }

    /// Describes a cluster that does not exist yet, in `folder` or a subfolder, and starts its watchdog. The watchdog starts
    /// before anything is created, so that the cluster is guarded at every moment. The watchdog removes all of `folder`.
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

    /// Stops the server, removes the folder, and waits until neither the folder nor the server's socket directory exists. A
    /// second call does nothing.
    ///
    /// - Returns: false when something still existed after a minute; the watchdog keeps trying.
    @discardableResult
    public func remove() async -> Bool {
        watchdog.release()
        let places = [folder, cluster.socketDirectory]
        do {
            // This also runs when the caller is cancelled, because cancelled tests must clean up, too.
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

    /// Makes a fresh folder in TEST_CLUSTERS, else in TMPDIR, else in /tmp. The server's user can enter it.
    package static func makeFolder() throws(LocalPostgresError) -> String {
        let parent = variable("TEST_CLUSTERS") ?? variable("TMPDIR") ?? "/tmp"
        var template = Array("\(parent)/quakes-XXXXXX".utf8CString)  // mkdtemp replaces the six X
        guard mkdtemp(&template) != nil else {
            throw .fileSystem(operation: "create a temporary directory in", path: parent, code: errno)
        }
        let home = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        // When we run as root, the server's user has to pass through the folder.
        guard geteuid() != 0 || chmod(home, 0o711) == 0 else {
            throw .fileSystem(operation: "set the mode of", path: home, code: errno)
        }
        return home
    }
}
