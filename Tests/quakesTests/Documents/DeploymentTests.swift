import Foundation
import Subprocess
import TestSupport
import Testing

@testable import quakes

/// What is written into files for other programs: units, manifests, documentation.
@Suite("Deployment")
struct DeploymentTests {
    let server = TestServer.shared

    private static let units = [
        "deploy/quakes-import.service", "deploy/quakes-worker.service", "deploy/quakes-follow@.service",
        "deploy/quakes-serve.service",
    ]
    private static let manifests = [
        "docker-compose.yml", "deploy/kubernetes/cronjob.yaml", "deploy/kubernetes/follower.yaml",
        "deploy/kubernetes/migrate.yaml", "deploy/kubernetes/worker.yaml",
    ]

    @Test("Every command in units and manifests is one that quakes takes", arguments: units + manifests)
    func commands(_ path: String) throws {
        let commands = try Self.commands(in: path)
        #expect(!commands.isEmpty)
        for command in commands {
            #expect(throws: Never.self, "\(command)") { try Quakes.parseAsRoot(command) }
        }
    }

    @Test("The package's units start the package's executable as the package's user", arguments: units)
    func packagedUnit(_ path: String) async throws {
        let result = try await Subprocess.run(
            .path(.init(Self.path("debian/unit"))), arguments: [Self.path(path)],
            output: .string(limit: 1 << 16), error: .discarded)
        let unit = result.standardOutput
        #expect(unit.hasPrefix("[Unit]\n") && unit.contains("\nExecStart=/usr/bin/quakes "))
        #expect(unit.contains("\nUser=quakes\nGroup=quakes\n") && !unit.contains("DynamicUser"))
    }

    @Test("Images, package and documentation are of the version that quakes --version prints")
    func versions() throws {
        for path in Self.manifests {
            let tags = try Self.text(path).matches(of: /image: quakes(\S*)/)
            #expect(!tags.isEmpty && tags.allSatisfy { $0.output.1 == ":\(version)" }, "\(path)")
        }
        #expect(try Self.text("debian/changelog").hasPrefix("quakes (\(version)) "))
        #expect(try Self.text("docs/running.md").contains("/quakes_\(version)_amd64.deb"))
    }

    /// With the logins that the manifests describe, on a server as they find it.
    @Test("Health checks fail before the first import, and pass once the feeds and the reader are up to date")
    func health() async throws {
        let compose = try Self.text("docker-compose.yml").matches(of: /test: \["CMD", "quakes", (.*)\]/)
            .map { try Self.words($0.output.1) }
        // A reader's probe names it: another reader that is behind, or no more, is not its affair.
        func lag(of reader: String) -> [String] { ["status", "--max-lag", "5m", "--reader", reader] }
        #expect(compose == [["status", "--max-age", "15m"], lag(of: "reader")])
        for (manifest, probe) in [("worker", compose[0]), ("follower", lag(of: "kubernetes"))] {
            let commands = try Self.commands(in: "deploy/kubernetes/\(manifest).yaml")
            let probes = commands.filter { $0.first == "status" }
            #expect(!probes.isEmpty && probes.allSatisfy { $0 == probe }, "\(manifest)")
        }
        let named = try [Self.text("docker-compose.yml"), Self.text("deploy/kubernetes/follower.yaml")]
            .map { try #require($0.firstMatch(of: /"--name", "([a-z]+)"/)).output.1 }
        #expect(named == ["reader", "kubernetes"])
        try await server.withRoles { roles in
            let (worker, reader) = (roles.login(.writer).url, roles.login(.reader).url)
            func check(_ arguments: [String], _ url: String) async throws -> QuakesCommand.Outcome {
                try await QuakesCommand(["DATABASE_URL": url]).run(arguments)
            }
            #expect(try await check(compose[0], worker).status == 69)
            let document = SmallFeed.document([SmallFeed.feature("a")])
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                _ = try await QuakesCommand(["DATABASE_URL": worker]).run("import", http.url("/feed"))
            }
            let feeds = try await check(compose[0], worker)
            #expect(feeds.status == 0, "\(feeds.errors)")
            #expect(try await check(compose[1], reader).status == 66)
            try await roles.login(.reader).query(
                "select history.report('reader', 0), history.report('old', 0)")
            #expect(try await check(compose[1], reader).status == 0)
            try await roles.database.query(
                "update history.transaction set committed_at = committed_at - interval '1 hour'")
            #expect(try await check(compose[1], reader).status == 69)
        }
    }

    @Test("deploy/logins.sql gives each login its role and its own password, and can be repeated")
    func logins() async throws {
        let server = try await TemporaryServer.start()
        let database = TestDatabase(url: server.url)
        #expect(try await QuakesCommand().run("migrate", "--roles", "--database", server.url).status == 0)
        let psql = try await server.cluster.program("psql")
        for _ in 0..<2 {
            let result = try await Subprocess.run(
                .path(.init(psql)),
                arguments: [
                    "-qX", "-v", "ON_ERROR_STOP=1", "-d", server.url, "-f", Self.path("deploy/logins.sql"),
                ],
                environment: .inherit.updating([
                    "WORKER_PASSWORD": "it's $1", "READER_PASSWORD": "two", "REPORT_PASSWORD": "three",
                ]),
                output: .discarded, error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        }
        let logins = try await database.query(
            """
            select rolname as login, rolpassword is not null as has_password,
                   (select string_agg(roleid::regrole::text, ',') from pg_auth_members where member = a.oid) as roles
            from pg_authid a where rolname in ('worker', 'reader', 'grafana') order by rolname
            """)
        #expect(try logins.map { try $0.decode("has_password") } == [true, true, true])
        #expect(
            try logins.map { try $0.decode("roles") } == ["quakes_report", "quakes_reader", "quakes_writer"])
    }

    @Test("The import in docs/running.md prints the counts that are given there")
    func example() async throws {
        let text = try Self.text("docs/running.md")
        let said = text.matches(of: /(?m)^    (?:feed\.geojson|-): (\d+ seen, .* rejected) in/).map {
            String($0.output.1)
        }
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            var printed: [String] = []
            let sample = ["--count", "2000", "--until", "2026-01-01"]
            for arguments in [sample, sample + ["--revise", "5%"]] {
                let feed = try await quakes.run(["sample"] + arguments).output
                #expect(text.contains("quakes sample \(arguments.joined(separator: " "))"))
                printed.append(try await quakes.run("import", "-", input: feed).output)
            }
            #expect(printed.count == said.count)
            for (line, counts) in zip(printed, said) { #expect(line.contains(": \(counts) in")) }
        }
    }

    // MARK: The files

    private static func path(_ name: String) -> String {
        projectFile(name).path
    }

    private static func text(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }

    /// The arguments of every command that starts quakes: of a unit's ExecStart=, of a manifest's list in brackets.
    private static func commands(in name: String) throws -> [[String]] {
        let text = try text(name)
        if name.hasSuffix(".service") {
            return text.matches(of: /(?m)^ExecStart=\/usr\/local\/bin\/quakes (.*)$/).map {
                $0.output.1.split(separator: " ").map(String.init)
            }
        }
        let container = text.matches(of: /(?:args|command): \[(.*)\]/).map(\.output.1)
        let checks = text.matches(of: /test: \["CMD", (.*)\]/).map(\.output.1)
        return try (container + checks).map { try words($0) }.compactMap { words in
            if words.first == "quakes" { return Array(words.dropFirst()) }
            return ["import", "follow", "migrate"].contains(words.first) ? words : nil
        }
    }

    /// The words of a list in YAML, which are quoted as in JSON.
    private static func words(_ list: some StringProtocol) throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data("[\(list)]".utf8))
    }
}
