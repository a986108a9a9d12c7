import Glibc

/// The OS user that runs the server's programs: the caller, or `postgres` when the caller is root.
///
/// PostgreSQL refuses to run as root (Server Setup and Operation, "The PostgreSQL User Account").
package struct ServerAccount: Sendable, Equatable {
    let userID: uid_t
    let groupID: gid_t

    package static func current() throws(LocalPostgresError) -> ServerAccount {
        geteuid() == 0 ? try named("postgres") : ServerAccount(userID: geteuid(), groupID: getegid())
    }

    private static func named(_ name: String) throws(LocalPostgresError) -> ServerAccount {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        let failure = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            getpwnam_r(name, &record, buffer.baseAddress!, buffer.count, &found)
        }
        guard failure == 0, found != nil else {
            throw LocalPostgresError(
                """
                Cannot run PostgreSQL: it refuses root, and there is no OS user \(name) to run it as. \
                Create it (useradd --system \(name)), or run as a normal user.
                """)
        }
        return ServerAccount(userID: record.pw_uid, groupID: record.pw_gid)
    }

    /// Whether programs must change from the caller's user, which is root, to this user.
    var isAnother: Bool { userID != geteuid() }

    /// The command line that runs a program as this user.
    ///
    /// If the caller is root, setpriv(1) changes to the user and then runs the program in the same process, without PAM or a
    /// terminal. Subprocess's `userID` does not work. swift-subprocess 1.0.2 forks with a bare clone3 and then calls setgroups
    /// and setuid. For these calls, glibc signals every thread that it knows of, and waits for it. If the parent was just
    /// creating a thread, the child waits for that thread for ever. Tests showed this within a minute.
    func command(_ program: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
        guard isAnother else { return (program, arguments) }
        let identity = ["--reuid", "\(userID)", "--regid", "\(groupID)", "--init-groups", "--"]
        return (Self.setpriv, identity + [program] + arguments)
    }

    /// Part of util-linux, which is always installed on Debian and Red Hat.
    static let setpriv = "/usr/bin/setpriv"
}
