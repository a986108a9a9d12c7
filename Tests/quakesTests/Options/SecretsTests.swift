import Foundation
import Subprocess
import TestSupport
import Testing

/// The secrets in a URL are sent only to the server that the URL names, and appear nowhere else.
@Suite("Secrets")
struct SecretsTests {
    let server = TestServer.shared

    private static let secrets = ["PASSWORD", "APIKEY", "OTHERKEY", "LOCATION", "SIGNATURE"]

    /// Answers with a feed that contains the whole URL, as event services do, and that has one feature to reject.
    private static func answer(_ request: TestRequest) -> TestFeedServer.Answer {
        switch URLComponents(string: request.uri)?.path {
        case "/feed" where request.headers.contains(name: "if-none-match"): return .whole(.notModified, [])
        case "/feed":
            let document = """
                {"type":"FeatureCollection","metadata":{"generated":1000,"url":"http://127.0.0.1\(request.uri)"},\
                "features":[\(SmallFeed.feature("a")),\(SmallFeed.feature("b", magnitude: "[]"))]}
                """
            return .whole(.ok, Array(document.utf8), headers: ["etag": "\"1\""])
        case "/broken": return .whole(.ok, Array("{\"type\":\"FeatureCollection\",\"features\":[".utf8))
        case "/moved":
            let next = "http://user:LOCATION@\(request.headers["host"][0])/none?signature=SIGNATURE"
            return .whole(.found, [], headers: ["location": next])
        default: return .whole(.forbidden, [])
        }
    }

    @Test("Neither a URL's password nor its key is stored in the database, printed or logged")
    func nowhere() async throws {
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: Self.answer) { http in
                func url(_ path: String) -> String {
                    http.url("\(path)?format=geojson&apikey=APIKEY").replacing("//", with: "//user:PASSWORD@")
                }
                let imports = ["/feed", "/feed", "/broken", "/moved", "/none"].map { ["import", url($0)] }
                let others = [
                    ["import", url("/feed").replacing("APIKEY", with: "OTHERKEY"), "--format", "json"],
                    ["import", url("/feed"), "--dry-run"],
                    ["status", "--max-age", "1s"], ["status", url("/feed"), "--max-age", "1d"],
                    ["status", url("/else"), "--max-age", "1d"],
                    ["status", "--format", "json"], ["rejects"], ["rejects", "--format", "ndjson"],
                    ["report", "import_run"], ["report", "feed_health"], ["report", "reject"],
                    ["changes"],
                ]
                var seen = ""
                for arguments in imports + others {
                    for log in [[], ["--log-format", "json", "--log-level", "debug"]] {
                        let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run(
                            arguments + log)
                        seen += outcome.output + outcome.errors
                        #expect([0, 65, 66, 69].contains(outcome.status), "\(arguments): \(outcome.errors)")
                    }
                }
                seen += try await dump(database)

                #expect(seen.contains("/feed?format=geojson&…:"))
                for secret in Self.secrets { #expect(!seen.contains(secret), "\(secret)") }
                // The server received the whole URL.
                let asked = try #require(http.requests.first)
                #expect(asked.uri == "/feed?format=geojson&apikey=APIKEY")
                #expect(
                    asked.headers["authorization"] == [
                        "Basic \(Data("user:PASSWORD".utf8).base64EncodedString())"
                    ]
                )
            }
        }
    }

    @Test("A backfill stores its service's password nowhere, and continues even if the password has changed")
    func backfill() async throws {
        let service = TestEventService(count: 30, limit: 20)
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: { request in
                request.headers["authorization"].isEmpty ? .whole(.unauthorized, []) : service.answer(request)
            }) { http in
                func backfill(_ credentials: String) async throws -> QuakesCommand.Outcome {
                    let url = http.url("/fdsnws/event/1").replacing("//", with: "//\(credentials)")
                    return try await QuakesCommand(["DATABASE_URL": database.url]).run(
                        [
                            "backfill", "--service", url, "--pace", "0s", "--per-request", "20",
                            "--log-format", "json", "--log-level", "debug",
                        ] + service.stretch)
                }
                let refused = try await backfill("")
                let first = try await backfill("user:PASSWORD@")
                try await database.execute(
                    "update import.backfill set finished_at = null, reached = window_start")
                let second = try await backfill("user:OTHERKEY@")
                let status = try await QuakesCommand(["DATABASE_URL": database.url]).run("status")

                #expect([refused, first, second, status].map(\.status) == [69, 0, 0, 0])
                #expect(try await database.query("select from import.backfill").count == 1)
                let outcomes = [refused, first, second, status].map { $0.output + $0.errors }.joined()
                let seen = outcomes + (try await dump(database))
                #expect(seen.contains("backfill \(http.url("/fdsnws/event/1"))"))
                for secret in Self.secrets { #expect(!seen.contains(secret), "\(secret)") }
            }
        }
    }

    @Test("URLs that differ only in a key are one source, and status finds that source by either URL")
    func twoKeys() async throws {
        try await server.withDatabase { database in
            try await TestFeedServer.run(answering: Self.answer) { http in
                let quakes = QuakesCommand(["DATABASE_URL": database.url])
                let urls = ["APIKEY", "OTHERKEY"].map { http.url("/feed?apikey=\($0)") }
                // The ETag of a response is not stored, because it may not be valid for the other URL.
                for url in urls + urls {
                    #expect(try await quakes.run("import", url).output.contains("2 seen"))
                }
                #expect(try await database.query("select from import.last_run").count == 1)
                for url in urls {
                    let status = try await quakes.run("status", url, "--max-age", "1d", "--format", "json")
                    #expect(status.status == 0, "\(status.errors)")
                    #expect(status.output.components(separatedBy: "fresh_at").count == 2)
                }
                #expect(try await quakes.run("status", http.url("/other?apikey=3")).status == 66)
            }
        }
    }

    @Test("A service URL with a query is wrong usage, and the error does not show the query's key")
    func serviceWithQuery() async throws {
        let outcome = try await QuakesCommand().run(
            "backfill", "--from", "1d", "--service", "https://host/fdsnws/event/1?apikey=APIKEY")

        #expect(outcome.status == 64)
        #expect(outcome.errors.contains("--service takes a name such as usgs, or a URL"))
        #expect(!outcome.errors.contains("APIKEY"))
    }

    private func dump(_ database: TestDatabase) async throws -> String {
        let result = try await Subprocess.run(
            .path(.init(try await server.cluster().program("pg_dump"))),
            arguments: ["--data-only", "--inserts", "--dbname", database.url],
            output: .string(limit: 64 << 20), error: .string(limit: 1 << 16))
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        return result.standardOutput
    }
}
