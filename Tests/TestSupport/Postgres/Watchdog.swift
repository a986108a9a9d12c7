import LocalPostgres

/// A process that removes a temporary cluster after our process has ended for any reason.
final class Watchdog: Sendable {
    private let tied: TiedScript

    /// Waits until standard input ends, then stops the server of the home `$1` at once and removes every given folder, including
    /// `$1`.
    ///
    /// If flock(1) is installed, the script first waits for the lock that the child programs of an unfinished start hold. Without
    /// this wait, a server could start after its folder was removed, and would keep running.
    static let script = #"""
        trap '' HUP INT TERM
        cat >/dev/null
        if command -v flock >/dev/null && [ -e "$1/lock" ]; then flock -w 90 "$1/lock" true; fi
        pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null) && kill -QUIT "$pid" 2>/dev/null
        tries=0
        while [ -e "$1/data/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null && [ $tries -lt 200 ]; do
            sleep 0.05
            tries=$((tries + 1))
        done
        tries=0
        until rm -rf -- "$@" 2>/dev/null || [ $tries -ge 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
        """#

    /// Starts the watchdog for `cluster`. It will also remove `folder`.
    init(guarding cluster: LocalCluster, in folder: String) async throws {
        tied = try await TiedScript(
            "watchdog", Self.script, [cluster.home, cluster.socketDirectory, folder])
    }

    /// Tells the watchdog to start its work now.
    func release() { tied.release() }
}
