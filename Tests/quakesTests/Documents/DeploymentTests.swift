import Foundation
import Subprocess
import TestSupport
import Testing

@testable import quakes

/// Checks the files that are written for other programs: units, manifests, documentation.
@Suite("Deployment")
struct DeploymentTests {
    let server = TestServer.shared

    private static let units = [
        "deploy/quakes-import.service", "deploy/quakes-worker.service", "deploy/quakes-follow@.service",
        "deploy/quakes-prune.service", "deploy/quakes-serve.service", "deploy/quakes-notify.service",
    ]
    private static let manifests = [
        "docker-compose.yml", "deploy/kubernetes/cronjob.yaml", "deploy/kubernetes/follower.yaml",
        "deploy/kubernetes/migrate.yaml", "deploy/kubernetes/notify.yaml", "deploy/kubernetes/prune.yaml",
        "deploy/kubernetes/serve.yaml",
        "deploy/kubernetes/worker.yaml",
    ]

    @Test("quakes accepts every command in units and manifests", arguments: units + manifests)
    func commands(_ path: String) throws {
        let commands = try Self.commands(in: path)
        #expect(!commands.isEmpty)
        for command in commands {
            #expect(throws: Never.self, "\(command)") { try Quakes.parseAsRoot(command) }
        }
    }

    @Test("A packaged unit starts the package's executable as the unit's own user", arguments: units)
    func packagedUnit(_ path: String) async throws {
        let result = try await Subprocess.run(
            .path(.init(Self.path("debian/unit"))), arguments: [Self.path(path)],
            output: .string(limit: 1 << 16), error: .discarded)
        let unit = result.standardOutput
        #expect(unit.hasPrefix("[Unit]\n") && unit.contains("\nExecStart=/usr/bin/quakes "))
        // Each unit has its own user, whose name is also the name of its environment file.
        let user = try #require(unit.firstMatch(of: /\nUser=(\S+)\nGroup=(\S+)\n/))
        #expect(user.output.1 == user.output.2 && !unit.contains("DynamicUser"))
        #expect(unit.contains("\nEnvironmentFile=/etc/\(user.output.1).env\n"))
    }

    @Test("Images and the package have the version that quakes --version prints")
    func versions() throws {
        for path in Self.manifests {
            let tags = try Self.text(path).matches(of: /image: quakes(\S*)/)
            #expect(!tags.isEmpty && tags.allSatisfy { $0.output.1 == ":\(version)" }, "\(path)")
        }
        #expect(try Self.text("debian/changelog").hasPrefix("quakes (\(version)) "))
    }

    @Test(
        "systemd-analyze gives each unit an exposure level below 3", .enabled(if: Self.canAnalyze),
        arguments: units)
    func exposure(_ path: String) async throws {
        let result = try await Subprocess.run(
            .name("systemd-analyze"), arguments: ["security", "--offline=true", Self.path(path)],
            output: .string(limit: 1 << 16), error: .discarded)
        let level = try #require(result.standardOutput.firstMatch(of: /exposure level for \S+: ([\d.]+)/))
        #expect(try #require(Double(level.output.1)) < 3)
    }

    /// The analysis also needs systemd 250 or later, which is not checked here.
    private static let canAnalyze = FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze")

    @Test("Each alert has a severity and a runbook entry, and each entry has an alert")
    func runbook() throws {
        let rules = try Self.text("deploy/prometheus/alerts.yaml").split(separator: "- alert: ").dropFirst()
        let entries = try Self.text("docs/operating.md").matches(of: /(?m)^### (Quakes\w+)$/).map {
            String($0.output.1)
        }
        #expect(rules.map { String($0.prefix { !$0.isNewline }) } == entries)
        for rule in rules {
            let name = String(rule.prefix { !$0.isNewline })
            #expect(rule.contains(/severity: (critical|warning) }/), "\(name)")
            #expect(rule.contains("runbook: docs/operating.md#\(name.lowercased())\n"), "\(name)")
        }
    }

    /// Uses the logins that the manifests describe, on a new server.
    @Test("Health checks fail before the first import, and pass once the feeds and the reader are up to date")
    func health() async throws {
        let compose = try Self.text("docker-compose.yml").matches(of: /test: \["CMD", "quakes", (.*)\]/)
            .map { try Self.words($0.output.1) }
        // The probe of a reader names that reader, so that a late or removed reader does not affect the probes of others.
        func lag(of reader: String) -> [String] { ["status", "--max-lag", "5m", "--reader", reader] }
        let sources = ["all_hour", "all_day", "usgs"]
        let age = ["--max-age", "15m"]
        #expect(compose.prefix(3) == [["status"] + sources + age, lag(of: "reader"), lag(of: "notify")])
        for file in ["docker-compose.yml", "deploy/kubernetes/worker.yaml"] {
            let quoted = sources.map { "\"\($0)\"" }.joined(separator: ", ")
            #expect(try Self.text(file).contains("[\"import\", \(quoted), \"--every\""), "\(file)")
        }
        for (manifest, probe) in [
            ("worker", compose[0]), ("follower", lag(of: "kubernetes")), ("notify", lag(of: "notify")),
        ] {
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
            #expect(try await check(compose[0], worker).status == 66)
            #expect(try await check(["status"] + age, worker).status == 69)
            let document = SmallFeed.document([SmallFeed.feature("a")])
            try await TestFeedServer.run(script: [.whole(.ok, Array(document.utf8))]) { http in
                let feed = http.url("/feed")
                _ = try await QuakesCommand(["DATABASE_URL": worker]).run("import", feed)
                for probe in [["status"] + age, ["status", feed] + age] {
                    let feeds = try await check(probe, worker)
                    #expect(feeds.status == 0, "\(feeds.errors)")
                }
            }
            #expect(try await check(compose[1], reader).status == 66)
            try await roles.login(.reader).query(
                "select history.report('reader', 0), history.report('old', 0)")
            #expect(try await check(compose[1], reader).status == 0)
            try await roles.database.query(
                "update history.transaction set committed_at = committed_at - interval '1 hour'")
            #expect(try await check(compose[1], reader).status == 69)
        }
    }

    @Test("The image's build copies every folder that the package names")
    func image() throws {
        let named = try Self.text("Package.swift").matches(of: /path: "([^"]+)"/).map { String($0.output.1) }
        let dockerfile = try Self.text("Dockerfile")
        let copied = dockerfile.matches(of: /(?m)^COPY (\S+) \1$/).map { String($0.output.1) }
        // Package.resolved exists only in releases.
        #expect(dockerfile.contains("\nCOPY Package.swift Package.resolve[d] ./\n"))
        let sent = try Self.text(".dockerignore").matches(of: /(?m)^!(.+)$/).map { String($0.output.1) }
        #expect(Set(copied).union(["Package.swift", "Package.resolved"]) == Set(sent))
        for path in named + ["Sources", "Tests"] {
            #expect(copied.contains { path == $0 || path.hasPrefix("\($0)/") }, "\(path)")
        }
    }

    @Test("The image's user has the user and group ids that the Kubernetes files name")
    func numbers() throws {
        let dockerfile = try Self.text("Dockerfile")
        #expect(dockerfile.contains("--gid 10001 ") && dockerfile.contains("--uid 10001 "))
        for path in Self.manifests.dropFirst() {
            let text = try Self.text(path)
            #expect(text.contains("runAsUser: 10001") && text.contains("runAsGroup: 10001"), "\(path)")
        }
    }

    @Test("docker-compose.yml has no default password, and its header names every other variable")
    func composeVariables() throws {
        let compose = try Self.text("docker-compose.yml")
        let written = try #require(compose.firstMatch(of: /for name in ([A-Z ]+); do/)).output.1
            .split(separator: " ").map { "\($0)_PASSWORD" }
        let passwords = compose.matches(of: /\$\{(\w+_PASSWORD):\?/).map { String($0.output.1) }
        #expect(Set(passwords) == Set(written))
        #expect(compose.matches(of: /PASSWORD\w*: (?!\$\{\w+:\?)/).isEmpty)
        let header = compose.split(separator: "\nx-limits:")[0]
        let others = compose.matches(of: /\$\{(\w+):-([^}]*)\}/).map { "\($0.output.1)=\($0.output.2)" }
        #expect(others.count >= 8)
        for variable in others { #expect(header.contains(variable), "\(variable)") }
    }

    @Test("docker-compose.yml builds a single image, and publishes ports only on this machine")
    func composeImage() throws {
        let compose = try Self.text("docker-compose.yml")
        #expect(compose.matches(of: /(?m)^ +build:/).count == 1)
        let ports = compose.matches(of: /(?m)^ +- "(\S+:\d+)"$/).map(\.output.1)
        #expect(ports.count >= 5 && ports.allSatisfy { $0.hasPrefix("127.0.0.1:") })
        // Requests from outside reach the server through the gateway of Compose's network, so that network is the trusted proxy.
        let subnet = try #require(compose.firstMatch(of: /subnet: (\S+)/)).output.1
        #expect(compose.contains("\"--trusted-proxy\", \"\(subnet)\""))
    }

    @Test("Only services that set up the schema have the owner's password, and pruning has its own login")
    func composeLogins() throws {
        let services = try Self.text("docker-compose.yml").split(separator: /\n\n/)
        for name in [
            "postgres", "migrate", "logins", "worker", "reader", "notify", "serve", "prune", "grafana",
        ] {
            let service = try #require(services.first { $0.contains("  \(name):\n") }, "\(name)")
            let isOwner = ["postgres", "migrate", "logins"].contains(name)
            #expect(service.contains("POSTGRES_PASSWORD:?") == isOwner, "\(name)")
        }
    }

    @Test("Each unit starts after a local database, and frequent restarts do not stop the socket")
    func order() throws {
        for path in Self.units {
            #expect(try Self.text(path).contains(/\nAfter=.* postgresql\.service/), "\(path)")
        }
        #expect(try Self.text("deploy/quakes-serve.service").contains("\nStartLimitIntervalSec=0\n"))
    }

    @Test(
        "The proxies also listen on IPv6, haproxy drops root's rights, and the Ingress has no rate limit for the page's files"
    )
    func proxies() throws {
        let (nginx, haproxy) = (
            try Self.text("deploy/proxies/nginx.conf"), try Self.text("deploy/proxies/haproxy.cfg")
        )
        for port in [80, 443] {
            #expect(nginx.contains("listen \(port)") && nginx.contains("listen [::]:\(port)"))
            #expect(haproxy.contains("bind :\(port)") && haproxy.contains("bind :::\(port) v6only"))
        }
        #expect(
            haproxy.contains("\nglobal\n")
                && haproxy.contains("\n    user haproxy\n    group haproxy\n    chroot "))
        let ingresses = try Self.text("deploy/kubernetes/serve.yaml").split(separator: "kind: Ingress")
            .dropFirst()
        #expect(ingresses.map { $0.contains("limit-rps") } == [true, false])
        #expect(ingresses.last?.contains("path: /page\n") == true)
    }

    @Test("The package has the deployment files that its documents name")
    func packagedFiles() throws {
        #expect(try Self.text("debian/quakes.docs").contains("\ndeploy\n"))
        for document in try FileManager.default.contentsOfDirectory(atPath: Self.path("docs"))
        where document.hasSuffix(".md") {
            for match in try Self.text("docs/\(document)").matches(of: /\]\(\.\.\/(deploy\/[^)#]+)\)/) {
                #expect(
                    FileManager.default.fileExists(atPath: Self.path("\(match.output.1)")),
                    "\(match.output.0)")
            }
        }
    }

    @Test("deploy/logins.sql gives each login its roles and a password, and can be run again")
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
                    "WORKER_PASSWORD": "it's $1", "READER_PASSWORD": "two", "PRUNE_PASSWORD": "three",
                    "REPORT_PASSWORD": "four", "NOTIFIER_PASSWORD": "five",
                ]),
                output: .discarded, error: .string(limit: 1 << 16))
            #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        }
        let logins = try await database.query(
            """
            select rolname as login, rolpassword is not null as has_password,
                   (select string_agg(roleid::regrole::text, ',' order by roleid::regrole::text) from pg_auth_members where member = a.oid) as roles
            from pg_authid a where rolname in ('worker', 'reader', 'notifier', 'prune', 'grafana') order by rolname
            """)
        #expect(try logins.map { try $0.decode("has_password") } == [true, true, true, true, true])
        #expect(
            try logins.map { try $0.decode("roles") } == [
                "quakes_report", "quakes_notifier,quakes_reader", "quakes_owner", "quakes_reader",
                "quakes_reader,quakes_writer",
            ])
    }

    @Test("The import in docs/running.md prints the counts that the page shows")
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

    /// The arguments of every command that starts quakes: in the ExecStart= of a unit, or in the bracketed list of a manifest.
    private static func commands(in name: String) throws -> [[String]] {
        var text = try text(name)
        if name.hasSuffix(".service") {
            // systemd drops the words of unset variables, such as `$SERVE_OPTIONS`, so they are not arguments.
            return text.matches(of: /(?m)^ExecStart=\/usr\/local\/bin\/quakes (.*)$/).map {
                $0.output.1.split(separator: " ").filter { !$0.hasPrefix("$") }.map(String.init)
            }
        }
        // Compose's variables have defaults. The values for Kubernetes are in the example in the file itself.
        text = text.replacing(/\$\{\w+:-([^}]*)\}/) { $0.output.1 }
        for match in text.matches(of: /--from-literal=([A-Z_]+)=([^\s…]+)/) {
            text = text.replacing("$(\(match.output.1))", with: match.output.2)
        }
        let container = text.matches(of: /(?:args|command): \[(.*)\]/).map(\.output.1)
        let checks = text.matches(of: /test: \["CMD", (.*)\]/).map(\.output.1)
        return try (container + checks).map { try words($0) }.compactMap { words in
            if words.first == "quakes" { return Array(words.dropFirst()) }
            return ["import", "follow", "migrate", "serve", "prune", "notify"].contains(words.first)
                ? words : nil
        }
    }

    /// The words of a list in YAML, which are quoted as in JSON.
    private static func words(_ list: some StringProtocol) throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data("[\(list)]".utf8))
    }
}
