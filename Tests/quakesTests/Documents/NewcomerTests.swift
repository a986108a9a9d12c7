import Foundation
import TestSupport
import Testing

/// Checks that the instructions for newcomers work.
@Suite("Newcomers")
struct NewcomerTests {
    let server = TestServer.shared

    @Test(
        "For an empty database, list says what to do next; otherwise, an empty list says that nothing matches"
    )
    func empty() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let first =
                "quakes: there are no earthquakes yet; to import those of the last day: quakes import all_day\n"
            #expect(try await quakes.run("list").errors == first)
            #expect(try await quakes.run("list", "--min-magnitude", "9").errors == first)
            #expect(try await quakes.run("list", "--format", "json").errors == "")

            try await database.importFeatures([SmallFeed.feature("a")])

            #expect(
                try await quakes.run("list", "--min-magnitude", "9").errors
                    == "quakes: no earthquakes match\n")
            #expect(try await quakes.run("list").errors == "")
        }
    }

    @Test("A synthetic feed has events of the last day, and none from the future")
    func recent() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            let sample = try await quakes.run("sample", "--count", "1000")
            let imported = try await quakes.run("import", "-", input: sample.output)
            #expect(imported.errors == "", "nothing is from the future")
            let listed = try await quakes.run("list", "--since", "1d", "--format", "ndjson")
            #expect((330...345).contains(listed.output.split(separator: "\n").count))

            let revised = try await quakes.run("sample", "--count", "1000", "--revise", "5%")
            let again = try await quakes.run("import", "-", input: revised.output)
            #expect(again.errors == "", "no revision is from the future")
        }
    }

    @Test("With --until, the same options give the same bytes")
    func until() async throws {
        let arguments = ["sample", "--count", "50", "--until", "2026-01-01", "--revise", "10%"]
        let one = try await QuakesCommand().run(arguments)
        let other = try await QuakesCommand().run(arguments)
        #expect(one.status == 0 && one.output == other.output)
        #expect(one.output.contains("\"generated\":\(1_767_225_600_000 + 4_200_000),"))
    }

    @Test("The four commands that `make run` suggests work")
    func suggestions() async throws {
        let script = try String(
            contentsOf: projectFile("scripts/run"), encoding: .utf8)
        let commands = script.matches(of: /\n {4}\$bin\/quakes (.+?)(?: *# .*)?(?=\n)/).map { match in
            match.1.split(separator: " ").map(String.init).filter { $0 != "--local" }
        }
        #expect(commands.count == 4)
        try await server.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a")])
            // The proxy makes the feed's server unreachable: the test checks the command, not the network.
            let quakes = QuakesCommand(["DATABASE_URL": database.url, "https_proxy": "http://127.0.0.1:1"])
            for command in commands where !command.contains("--every") && command != ["serve"] {
                let outcome = try await quakes.run(command)
                #expect(outcome.status == 0, "\(command): \(outcome.errors)")
            }
            let daemon = try #require(commands.first { $0.contains("--every") })
            let status = try await quakes.run(daemon) { process in
                try await waitUntil {
                    try await !database.query("select from import.run where source like '%/all_hour.geojson'")
                        .isEmpty
                }
                kill(process, SIGTERM)
            }
            #expect(status == 0)

            let serve = try #require(commands.first { $0 == ["serve"] })
            let served = try await quakes.run(serve + ["--listen", "127.0.0.1:0"]) { process in
                // The server opens four sessions, in addition to the session of this query.
                try await waitUntil {
                    try await database.query(
                        "select from pg_stat_activity where datname = current_database() offset 4"
                    ).count > 0
                }
                kill(process, SIGTERM)
            }
            #expect(served == 0)
        }
    }
}
