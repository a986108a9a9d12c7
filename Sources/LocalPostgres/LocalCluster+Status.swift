import Glibc

extension LocalCluster {
    public enum Status: Sendable, Equatable {
        case absent
        case stopped(majorVersion: Int)
        /// A server is running; it may still be starting or already be stopping.
        case running(pid: pid_t, majorVersion: Int)
    }

    /// Reads the status with a few system calls, and changes nothing.
    ///
    /// - Throws: `LocalPostgresError` if the data can't be read or are not a cluster.
    public func status() async throws -> Status {
        guard let version = try majorVersion() else { return .absent }
        guard let postmaster = try Postmaster.running(in: data, socket: socket) else {
            return .stopped(majorVersion: version)
        }
        return .running(pid: postmaster.pid, majorVersion: version)
    }
}
