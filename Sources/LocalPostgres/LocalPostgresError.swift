import Glibc

/// Why a private cluster could not be found, created, started or stopped.
///
/// Every description names the operation, its subject and a remedy. Descriptions contain no secrets, because the cluster has no
/// password.
public enum LocalPostgresError: Error, Sendable, Equatable {
    /// No directory contains `postgres`, `initdb` and `pg_ctl` of the version that created the data or, for a new cluster, of a
    /// supported major version.
    case noBinaries(wanted: Int?, lookedIn: [String])
    case noProgram(name: String, directory: String)
    /// The caller is root, PostgreSQL refuses to run as root, and there is no `postgres` user to run it as.
    case noServerAccount(name: String)
    /// `path` does not belong to the user who would run the server. It was not touched.
    case foreignOwner(path: String, owner: uid_t, expected: uid_t)
    /// The directory exists, but it has no readable PG_VERSION. It was not touched.
    case notACluster(data: String)
    /// `initdb` or the first statement failed. The attempt leaves nothing behind, unless the clean-up failed, too.
    case creationFailed(home: String, program: String, output: String)
    case startFailed(home: String, output: String, log: [String])
    case unreachable(data: String, pid: pid_t, socketDirectory: String)
    /// A server listens on the cluster's socket, but it is not the process that `postmaster.pid` names.
    case notHere(socketDirectory: String)
    case stopTimedOut(home: String, pid: pid_t, after: Duration)
    case lockTimedOut(path: String, after: Duration)
    case launchFailed(program: String, reason: String)
    /// A call to the operating system failed. `operation` is a verb phrase: "create the directory".
    case fileSystem(operation: String, path: String, code: Int32)
}

extension LocalPostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noBinaries(let wanted, let lookedIn):
            let supported = PostgresBinaries.supported
            let places = lookedIn.isEmpty ? "no directory" : lookedIn.joined(separator: ", ")
            guard let wanted else {
                return """
                    Cannot find the programs of PostgreSQL \(supported.lowerBound) to \(supported.upperBound) \
                    (postgres, initdb, pg_ctl). Looked in: \(places). Install them: apt-get install postgresql
                    """
            }
            return """
                Cannot find PostgreSQL \(wanted), which made the cluster's data. Looked in: \(places). The data were not \
                touched. Install that version (apt-get install postgresql-\(wanted)), move the data with pg_upgrade, or \
                set QUAKES_HOME to another folder.
                """
        case .noProgram(let name, let directory):
            return """
                Cannot find the program \(name) in \(directory). Install it: apt-get install postgresql-client
                """
        case .noServerAccount(let name):
            return """
                Cannot run PostgreSQL: it refuses root, and there is no OS user \(name) to run it as. \
                Create it (useradd --system \(name)), or run as a normal user.
                """
        case .foreignOwner(let path, let owner, let expected):
            return """
                Cannot use \(path): it belongs to user ID \(owner), but user ID \(expected) would run the server. \
                Run as its owner, or set QUAKES_HOME to another folder.
                """
        case .notACluster(let data):
            return """
                Cannot start the cluster in \(data): the directory has no readable PG_VERSION, so it is not a \
                PostgreSQL cluster. It was not touched. Move it away, or set QUAKES_HOME to another folder.
                """
        case .creationFailed(let home, let program, let output):
            return """
                Cannot create a PostgreSQL cluster in \(home): \(program) failed:\(Self.block(output)) \
                Fix the cause named above, then start again.
                """
        case .startFailed(let home, let output, let log):
            return """
                Cannot start the PostgreSQL cluster in \(home):\(Self.block(output))
                Last lines of \(home)/log:\(Self.block(log.joined(separator: "\n"))) \
                Fix the cause named above, then start again.
                """
        case .unreachable(let data, let pid, let socketDirectory):
            return """
                Cannot reach the server of \(data): process \(pid) serves it, but not on the socket in \
                \(socketDirectory). Stop it (kill -INT \(pid)), then start again.
                """
        case .notHere(let socketDirectory):
            return """
                Cannot stop the server that listens in \(socketDirectory): its process is not visible here. If it runs in a \
                container, stop it there.
                """
        case .stopTimedOut(let home, let pid, let after):
            return """
                Cannot stop the PostgreSQL cluster in \(home): process \(pid) is still running \
                \(after.components.seconds) s after a fast stop. Stop it at once (kill -QUIT \(pid)); \
                the next start recovers all committed data.
                """
        case .lockTimedOut(let path, let after):
            return """
                Cannot lock \(path): another process has been starting or stopping this cluster for \
                \(after.components.seconds) s. To see which process holds it, run: fuser -v \(path)
                """
        case .launchFailed(let program, let reason):
            return """
                Cannot launch \(program): \(reason) \
                Check that the program exists and is executable, then start again.
                """
        case .fileSystem(let operation, let path, let code):
            return """
                Cannot \(operation) \(path): \(String(cString: strerror(code))). Check that the folder exists, has room \
                and belongs to you, or set QUAKES_HOME to another.
                """
        }
    }

    private static func block(_ text: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: true)
        return lines.isEmpty ? " (no output)." : lines.map { "\n    \($0)" }.joined() + "\n"
    }
}
