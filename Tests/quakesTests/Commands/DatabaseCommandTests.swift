import Feed
import Foundation
import PostgreSQL
import TestSupport
import Testing

@testable import quakes

@Suite("quakes database")
struct DatabaseCommandTests {
    @Test("The private cluster is created on demand, migrated, kept running, and stopped on request")
    func life() async throws {
        try await withHome { home in
            let quakes = QuakesCommand(["QUAKES_HOME": home, "QUAKES_LOCAL": "1"])
            #expect(
                try await quakes.run("database", "status").output == "there is no cluster in \(home)\n")

            let first = try await quakes.run(
                "import", "-", input: SmallFeed.document([SmallFeed.feature("a")]))
            #expect(first.status == 0)
            #expect(first.errors == "quakes: created and started a private cluster in \(home)\n")

            let second = try await quakes.run("list", "--format", "csv")
            #expect(second.errors == "quakes: using the private cluster in \(home)\n")
            #expect(second.output.contains("q0a"))
            for command in [["map"], ["plot", "time"], ["plot", "aftershocks", "--mainshock", "q0a"]] {
                let picture = try await quakes.run(command)
                #expect(picture.status == 0)
                #expect(picture.errors.ranges(of: "the private cluster").count == 1, "\(picture.errors)")
            }

            let url = try await quakes.run("database", "url").output.trimmingCharacters(
                in: .whitespacesAndNewlines)
            #expect(try await QuakesCommand().run("list", "--database", url).output.contains("q0a"))
            let shell = try await quakes.run("database", "shell", "-Atc", "select code from quake")
            #expect(shell.output == "q0a\n")

            #expect(try await quakes.run("database", "stop").output == "stopped\n")
            #expect(try await quakes.run("database", "stop").output == "not running\n")
            #expect(try await quakes.run("database", "status").output == "stopped in \(home)\n")
            #expect(try await quakes.run("database", "start").output == "started in \(home)\n")
        }
    }

    @Test("A silent host in libpq's service file does not block the next host")
    func service() async throws {
        try await TestServer.shared.withDatabase { database in
            try await withFolder { folder in
                let silent = try ListeningSocket(folder.appending(path: ".s.PGSQL.5432").path)
                let options = try ConnectionOptions(database.url)
                var lines = "[cluster]\nconnect_timeout=2\nport=5432,\(options["port"] ?? "")\n"
                lines += "host=\(folder.path),\(options["host"] ?? "")\n"
                lines += "dbname=\(options["dbname"] ?? "")\nuser=\(options["user"] ?? "")\n"
                let file = folder.appending(path: "services").path
                try lines.write(toFile: file, atomically: true, encoding: .utf8)
                let quakes = QuakesCommand([
                    "PGSERVICEFILE": file, "DATABASE_URL": "postgresql://?service=cluster",
                ])
                let outcome = try await quakes.run("list", "--format", "csv")
                #expect(outcome.status == 0, "\(outcome.errors)")
                withExtendedLifetime(silent) {}
            }
        }
    }

    @Test(
        "The database comes from the option, DATABASE_URL, libpq's variables or the private cluster, in this order"
    )
    func precedence() throws {
        func place(_ arguments: [String], _ variables: [String: String], terminal: Bool = false) throws
            -> ConnectionOptions?
        {
            try DatabaseOptions.parse(arguments).resolve(
                Environment(variables: variables, isTerminal: terminal))
        }
        let all = ["DATABASE_URL": "postgresql://b/", "PGHOST": "c", "QUAKES_LOCAL": "1"]

        #expect(try place(["--database", "postgresql://a/"], all) == ConnectionOptions("postgresql://a/"))
        #expect(try place([], all) == ConnectionOptions("postgresql://b/"))
        #expect(try place([], ["PGSERVICE": "c", "QUAKES_LOCAL": "1"]) == ConnectionOptions())
        #expect(try place(["--local"], all) == nil)
        #expect(try place([], ["QUAKES_LOCAL": "1"]) == nil)
        #expect(try place([], [:], terminal: true) == nil)
        #expect(try place([], ["DATABASE_URL": ""], terminal: true) == nil)
        #expect(throws: Failure.self) { try place([], ["PGUSER": "c"]) }
    }
}

/// Runs `body` with a home for a private cluster, and then stops the cluster and removes the home.
func withHome(_ body: (String) async throws -> Void) async throws {
    let home = "/tmp/quakes-home-\(UUID().uuidString.prefix(8))"
    let quakes = QuakesCommand(["QUAKES_HOME": home])
    do {
        try await body(home)
    } catch {
        _ = try? await quakes.run("database", "stop")
        try? FileManager.default.removeItem(atPath: home)
        throw error
    }
    _ = try await quakes.run("database", "stop")
    try FileManager.default.removeItem(atPath: home)
}
