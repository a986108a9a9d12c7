import Glibc

/// The OS user that runs the server's programs: the caller, or `postgres` when the caller is root.
///
/// PostgreSQL refuses to run as root (Server Setup and Operation, "The PostgreSQL User Account").
package struct ServerAccount: Sendable, Equatable {
    let name: String
    let userID: uid_t
    let groupID: gid_t

    package static func current() throws(LocalPostgresError) -> ServerAccount {
        if geteuid() == 0 { return try named("postgres") }
        return lookUp(userID: geteuid())
            ?? ServerAccount(name: "\(geteuid())", userID: geteuid(), groupID: getegid())
    }

    static func named(_ name: String) throws(LocalPostgresError) -> ServerAccount {
        guard let account = lookUp({ getpwnam_r(name, $0, $1, $2, $3) }) else {
            throw .noServerAccount(name: name)
        }
        return account
    }

    /// Whether programs must change from the caller's user, which is root, to this user.
    var isAnother: Bool { userID != geteuid() }

    /// The command line that runs a program as this user.
    ///
    /// If the caller is root, setpriv(1) changes to the user and then runs the program in the same process, without PAM or a
    /// terminal. Subprocess's `userID` does not work: swift-subprocess 1.0.2 forks with a bare clone3 and then calls setgroups
    /// and setuid, for which glibc stops every thread that it knows of. If the parent was just creating a thread, the child waits
    /// for that thread for ever. Tests showed this within a minute.
    func command(_ program: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
        guard isAnother else { return (program, arguments) }
        let identity = ["--reuid", "\(userID)", "--regid", "\(groupID)", "--init-groups", "--"]
        return (Self.setpriv, identity + [program] + arguments)
    }

    /// Part of util-linux, which is always installed on Debian and Red Hat.
    static let setpriv = "/usr/bin/setpriv"

    private typealias Query = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32

    private static func lookUp(userID: uid_t) -> ServerAccount? {
        lookUp { getpwuid_r(userID, $0, $1, $2, $3) }
    }

    private static func lookUp(_ query: Query) -> ServerAccount? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer -> ServerAccount? in
            guard query(&record, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return ServerAccount(
                name: String(cString: record.pw_name), userID: record.pw_uid, groupID: record.pw_gid)
        }
    }
}
