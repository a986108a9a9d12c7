import Glibc

/// The OS user that runs the server's programs: the caller, or `postgres` when the caller is root.
///
/// PostgreSQL refuses to run as root (Server Setup and Operation, "The PostgreSQL User Account").
package struct ServerAccount: Sendable, Equatable {
    let name: String
    let userID: uid_t
    let groupID: gid_t
    /// The groups of the user, if the caller has to become that user. nil if the caller already is that user.
    let groups: [gid_t]?

    package static func current() throws(LocalPostgresError) -> ServerAccount {
        if geteuid() == 0 { return try named("postgres") }
        return ServerAccount(
            name: lookUp(userID: geteuid())?.name ?? "\(geteuid())",
            userID: geteuid(), groupID: getegid(), groups: nil)
    }

    static func named(_ name: String) throws(LocalPostgresError) -> ServerAccount {
        guard let entry = lookUp({ getpwnam_r(name, $0, $1, $2, $3) }) else {
            throw .noServerAccount(name: name)
        }
        return ServerAccount(
            name: name, userID: entry.userID, groupID: entry.groupID,
            groups: memberships(of: name, primary: entry.groupID))
    }

    /// The command line that runs a program as this user.
    ///
    /// For root, the program is run through setpriv(1), which becomes the user and then the program. That is the same
    /// process, without PAM or a terminal. Subprocess's `userID` would not do: swift-subprocess 1.0.2 forks with a bare
    /// clone3 and then calls setgroups and setuid. For these, glibc stops every thread that it knows of. If the parent
    /// was just creating a thread, the child waits for it for ever. Our tests showed this within a minute.
    func command(_ program: String, _ arguments: [String]) -> (path: String, arguments: [String]) {
        guard let groups else { return (program, arguments) }
        let memberships = groups.map { "\($0)" }.joined(separator: ",")
        let identity = ["--reuid", "\(userID)", "--regid", "\(groupID)", "--groups", memberships, "--"]
        return (Self.setpriv, identity + [program] + arguments)
    }

    /// Part of util-linux, which is always installed on Debian and Red Hat.
    static let setpriv = "/usr/bin/setpriv"

    static func homeDirectory(of userID: uid_t) -> String? {
        lookUp(userID: userID)?.home
    }

    private struct Entry {
        let name: String
        let userID: uid_t
        let groupID: gid_t
        let home: String
    }

    private typealias Query = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> Int32

    private static func lookUp(userID: uid_t) -> Entry? {
        lookUp { getpwuid_r(userID, $0, $1, $2, $3) }
    }

    private static func lookUp(_ query: Query) -> Entry? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer -> Entry? in
            guard query(&record, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return Entry(
                name: String(cString: record.pw_name), userID: record.pw_uid, groupID: record.pw_gid,
                home: String(cString: record.pw_dir))
        }
    }

    private static func memberships(of name: String, primary: gid_t) -> [gid_t] {
        var groups = Array(repeating: primary, count: 64)
        var count = Int32(groups.count)
        if getgrouplist(name, primary, &groups, &count) < 0 {
            groups = Array(repeating: primary, count: Int(count))
            getgrouplist(name, primary, &groups, &count)
        }
        return Array(groups.prefix(Int(count)))
    }
}
