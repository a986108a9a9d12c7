import Foundation
import Glibc
import TestSupport
import Testing

@testable import LocalPostgres

@Suite("The home of a cluster")
struct HomeTests {
    @Test("QUAKES_HOME comes first, then /var/lib/quakes for root, then the user's data folder")
    func defaultHome() {
        func home(_ environment: [String: String], _ userID: uid_t) -> String {
            LocalCluster.defaultHome(environment: environment, userID: userID)
        }
        #expect(home(["QUAKES_HOME": "/q", "XDG_DATA_HOME": "/x", "HOME": "/h"], 0) == "/q")
        #expect(home(["QUAKES_HOME": "/q", "XDG_DATA_HOME": "/x", "HOME": "/h"], 1000) == "/q")
        #expect(home(["XDG_DATA_HOME": "/x", "HOME": "/h"], 0) == "/var/lib/quakes")
        #expect(home(["XDG_DATA_HOME": "/x", "HOME": "/h"], 1000) == "/x/quakes")
        #expect(
            home(["QUAKES_HOME": "", "XDG_DATA_HOME": "x", "HOME": "/h"], 1000) == "/h/.local/share/quakes")
        #expect(home(["HOME": ""], 1).hasSuffix("/.local/share/quakes"))
    }

    @Test("The URL has the percent-encoded socket directory and the role")
    func url() {
        let cluster = LocalCluster(home: "/nowhere/a")
        #expect(
            cluster.url() == "postgresql:///quakes?host=%2Fnowhere%2Fa%2Frun&port=5432&user=quakes")
        #expect(cluster.url(database: "a b").hasPrefix("postgresql:///a%20b?"))
    }

    @Test("For long and unusual homes, the socket path has at most 107 bytes, and is always the same")
    func socketPath() {
        for home in ["/q", "/" + String(repeating: "long/", count: 40), "/a,b", "/sp ace", "/q\"uote"] {
            let socket = ServerSocket(home: home)
            #expect(socket.path.utf8.count <= 107)
            #expect(socket == ServerSocket(home: home))
            #expect((socket.directory == "\(home)/run") == (home == "/q"))
        }
        #expect(ServerSocket(home: "/a,b").directory != ServerSocket(home: "/a,c").directory)
    }

    @Test("A symbolic link to a home leads to the same cluster")
    func symbolicLink() async throws {
        try await withFolder { folder in
            let (home, link) = ("\(folder.path)/home", "\(folder.path)/link")
            #expect(mkdir(home, 0o700) == 0)
            #expect(symlink(home, link) == 0)
            let cluster = LocalCluster(home: home)
            #expect(LocalCluster(home: link).home == cluster.home)
            #expect(LocalCluster(home: "\(link)/not/yet").home == "\(cluster.home)/not/yet")
        }
    }

    @Test(
        "Long and unusual paths work as a home",
        arguments: [String(repeating: "long-folder/", count: 15) + "home", #"it's "a", $HOME `b`\"#])
    func oddHomes(_ subfolder: String) async throws {
        try await withCluster(subfolder: subfolder) { cluster in
            #expect(try await cluster.start() == .created)
            #expect(cluster.socketDirectory.hasPrefix("/tmp/quakes-\(geteuid())-"))
            #expect(mode(of: cluster.socketDirectory) == 0o700)
            #expect(owner(of: cluster.socketDirectory) == (try ServerAccount.current()).userID)
            #expect(try await cluster.query("SELECT 1") == "1")
            try await cluster.stop()
            #expect(try await cluster.start() == .started)
        }
    }

    @Test("A socket directory that another user has created is refused", .enabled(if: geteuid() == 0))
    func squattedSocketDirectory() async throws {
        try await withCluster(subfolder: String(repeating: "long-folder/", count: 15)) { cluster in
            #expect(mkdir(cluster.socketDirectory, 0o777) == 0)
            #expect(chown(cluster.socketDirectory, 54321, 54321) == 0)
            let expected = try ServerAccount.current().userID
            await #expect(
                throws: LocalPostgresError.foreignOwner(
                    path: cluster.socketDirectory, owner: 54321, expected: expected)
            ) { try await cluster.start() }
        }
    }

    @Test(
        "If postgres may not enter a parent folder, the error says so",
        .enabled(if: geteuid() == 0))
    func closedFolder() async throws {
        try await withCluster(subfolder: "closed/home") { (cluster) async throws in
            let closed = String(cluster.home.dropLast("/home".count))
            #expect(mkdir(closed, 0o700) == 0)
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            #expect("\(error!)".contains("\(cluster.home)/data.new"), "\(error!)")
            #expect("\(error!)".contains("Permission denied"), "\(error!)")
            #expect(try await cluster.status() == .absent)
        }
    }

    @Test("For data of another major version, the error names that version, and the data are not changed")
    func otherMajorVersion() async throws {
        try await withCluster { cluster in
            try FileSystem.createDirectories(cluster.home, mode: 0o711, parents: 0o711)
            try FileSystem.createPrivateDirectory(cluster.data, for: .current())
            try FileSystem.append("99\n", to: "\(cluster.data)/PG_VERSION", for: .current())
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            #expect("\(error!)".contains("Cannot find PostgreSQL 99"), "\(error!)")
            #expect(try await cluster.status() == .stopped(majorVersion: 99))
            #expect(try FileSystem.read("\(cluster.data)/PG_VERSION") == "99\n")
            let listing = try await ServerProgram("/bin/ls", ["-A", cluster.data]).run()
            #expect(listing.output == "PG_VERSION\n")
        }
    }

    @Test("A folder that is not a cluster is refused, and so is another user's folder")
    func notACluster() async throws {
        try await withCluster { cluster in
            try FileSystem.createDirectories(cluster.data, mode: 0o700, parents: 0o711)
            if geteuid() == 0 {
                let expected = try ServerAccount.current().userID
                await #expect(
                    throws: LocalPostgresError.foreignOwner(path: cluster.data, owner: 0, expected: expected)
                ) { try await cluster.start() }
                #expect(chown(cluster.data, expected, expected) == 0)
            }
            let error = await #expect(throws: LocalPostgresError.self) { try await cluster.start() }
            for part in [cluster.data, "PG_VERSION", "not touched", "Move it away"] {
                #expect("\(error!)".contains(part), "\(error!)")
            }
        }
    }
}
