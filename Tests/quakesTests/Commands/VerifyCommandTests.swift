import Foundation
import TestSupport
import Testing

@Suite("quakes verify")
struct VerifyCommandTests {
    @Test("Differences are listed in every format and end with 65; --repair removes them and ends with 0")
    func repair() async throws {
        let day = 86_400_000
        let now = Int(Date().timeIntervalSince1970) * 1000
        let catalogue = TestCatalogue(now: now)
        catalogue.change { state in
            for number in 1...20 {
                state.add(.init("us\(number)", time: now - 2 * day + number * 60_000, updated: now - day))
            }
        }
        try await TestServer.shared.withDatabase { database in
            try await TestFeedServer.run(answering: catalogue.answer) { server in
                let quakes = QuakesCommand([
                    "DATABASE_URL": database.url, "http_proxy": "http://127.0.0.1:\(server.port)",
                ])
                let verify = ["verify", "--from", "3d", "--service", TestCatalogue.service, "--pace", "0s"]
                #expect(try await quakes.run("import", TestCatalogue.service).status == 0)
                let whole = try await quakes.run(verify)
                #expect(whole.status == 0 && whole.output == "", "\(whole.errors)")
                #expect(whole.errors == "quakes: 20 events at the service; 0 differ; 2 requests\n")
                #expect(try await quakes.run(verify + ["--format", "json"]).output == "[]\n")

                try await database.query("delete from quake where code = 'us7'")
                try await database.query("update quake set magnitude = 3 where code = 'us8'")
                let table = try await quakes.run(verify)
                #expect(table.status == 65)
                #expect(table.output.contains("missing    us7"), "\(table.output)")
                let csv = try await quakes.run(verify + ["--format", "csv"])
                #expect(csv.status == 65)
                #expect(
                    csv.output.split(separator: "\n").map { $0.prefix(12) } == [
                        "finding,code", "missing,us7,", "different,us",
                    ])
                let json = try await quakes.run(verify + ["--format", "json"])
                #expect(json.output.contains(#"{"finding":"missing","code":"us7","time":"#))

                let repaired = try await quakes.run(verify + ["--repair"])
                #expect(repaired.status == 0, "\(repaired.errors)")
                #expect(repaired.errors.contains("1 inserted, 1 updated, 0 deleted"), "\(repaired.errors)")
                #expect(try await quakes.run(verify).status == 0)
            }
        }
    }

    @Test("The catalogue can be compared with a service that has only text and no counts")
    func plainService() async throws {
        try await TestServer.shared.withDatabase { database in
            var service = TestEventService(count: 50, limit: 20_000)
            service.isPlain = true
            try await TestFeedServer.run(answering: service.answer) { server in
                let stretch =
                    service.stretch + [
                        "--service", server.url("/fdsnws/event/1/"), "--pace", "0s", "--database",
                        database.url,
                    ]
                #expect(try await QuakesCommand().run(["backfill"] + stretch).status == 0)
                let whole = try await QuakesCommand().run(["verify"] + stretch)
                #expect(
                    whole.status == 0 && whole.errors.contains("50 events at the service"), "\(whole.errors)")
                try await database.query("delete from quake where code like '%7'")
                let outcome = try await QuakesCommand().run(["verify", "--format", "csv"] + stretch)
                #expect(outcome.status == 65 && outcome.output.split(separator: "\nmissing,").count == 6)
            }
        }
    }

    @Test(
        "Invalid periods and services are wrong usage",
        arguments: [
            (["--from", "2020-01-02", "--to", "2020-01-01"], "--until must be later"),
            (["--from", "1d", "--service", "all_day"], "--service takes a name such as usgs"),
        ])
    func usage(_ arguments: [String], _ reason: String) async throws {
        let outcome = try await QuakesCommand().run(["verify"] + arguments)
        #expect(outcome.status == 64)
        #expect(outcome.errors.contains(reason), "\(outcome.errors)")
    }
}
