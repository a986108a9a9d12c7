import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("quakes status and quakes prune")
struct HistoryCommandTests {
    let server = TestServer.shared

    @Test("status shows the token, the horizon, and how far behind each reader is")
    func status() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("select history.report('slow', 1)")
            try await database.query("update quake set magnitude = 2")
            try await database.query("update quake set magnitude = 3")
            try await database.query("select history.report(E'fast\\u001b', 3)")

            let table = try await quakes.run("status")
            let json = try await quakes.run("status", "--format", "json")

            #expect(table.status == 0 && table.errors == "")
            // Skip the lines about imports.
            let lines = Array(table.lines.drop { !$0.hasPrefix("token") })
            #expect(
                lines[0].hasPrefix("token 3, committed 20")
                    && lines[0].hasSuffix("history begins after token 0"))
            #expect(lines[1].hasPrefix("READER"))
            #expect(lines[2].hasPrefix("fast") && !lines[2].contains("\u{1B}"))
            #expect(lines[3].split(separator: " ").prefix(2) == ["slow", "1"])
            #expect(json.status == 0 && json.errors == "")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(object["token"] as? Int == 3 && object["horizon"] as? Int == 0)
            let slow = try #require((object["readers"] as? [[String: Any]])?.last)
            #expect(slow["name"] as? String == "slow" && slow["tokens_behind"] as? Int == 2)
            #expect(try #require(slow["seconds_behind"] as? Double) > 0)
            #expect(slow["needs_snapshot"] as? Bool == false)
        }
    }

    @Test("status --max-age says whether nothing was imported, or nothing is imported regularly")
    func nothingRegular() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for reason in [
                "no feed has ever been imported",
                "no source is imported regularly; name the sources to check",
            ] {
                let status = try await quakes.run("status", "--max-age", "1h", "--quiet")
                #expect(status.status == 69 && status.errors == "quakes: \(reason)\n")
                try await database.importFeatures([SmallFeed.feature("a")])
            }
        }
    }

    @Test("status --max-lag ends with 69 if a reader is further behind, and names that reader")
    func maxLag() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.query("select history.report('fast', 1), history.report('slow', 0)")
            try await database.importFeatures([SmallFeed.feature("a")])

            let fine = try await quakes.run("status", "--max-lag", "1d")
            let late = try await quakes.run("status", "--max-lag", "0s")

            #expect(fine.status == 0 && fine.errors == "")
            #expect(late.status == 69)
            #expect(late.errors.hasPrefix("quakes: reader slow is ") && late.errors.hasSuffix(" behind\n"))
            #expect(late.output.contains("slow"))
        }
    }

    @Test("An abandoned reader does not affect a monitor that names another reader, and can be removed")
    func abandonedReader() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.query("select history.report('good', 0), history.report('gone', 0)")
            try await database.importFeatures([SmallFeed.feature("a")])
            try await database.query("select history.report('good', 1)")
            try await database.query(
                "update history.reader set seen_at = now() - interval '3 days' where name = 'gone'")

            let all = try await quakes.run("status", "--max-lag", "0s")
            #expect(all.status == 69)
            #expect(
                all.errors.hasSuffix(
                    "behind, last seen 3 d ago; if it was removed: quakes forget --reader gone\n"),
                "\(all.errors)")
            let good = try await quakes.run("status", "--max-lag", "0s", "--reader", "good")
            #expect(good.status == 0 && !good.output.contains("gone"), "\(good.errors)")
            #expect(
                try await quakes.run("status", "--max-lag", "0s", "--reader", "good", "--reader", "gone")
                    .status == 69)
            let unknown = try await quakes.run("status", "--max-lag", "1d", "--reader", "godo")
            #expect(unknown.status == 66)
            #expect(
                unknown.errors == "quakes: no reader has reported under the name godo; did you mean good?\n")

            let forgotten = try await quakes.run("forget", "--reader", "gone")
            #expect(
                forgotten.status == 0 && forgotten.output == "forgot the reader gone\n", "\(forgotten.errors)"
            )
            #expect(try await quakes.run("status", "--max-lag", "0s").status == 0)
            #expect(try await database.query("select reader from report.reader_lag").count == 1)
            #expect(try await quakes.run("forget", "--reader", "gone").status == 66)
            #expect(try await quakes.run("forget").status == 64)
        }
    }

    @Test("status shows token 0 for a database without transactions")
    func nothing() async throws {
        try await server.withDatabase { database in
            let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run("status")

            #expect(outcome.status == 0)
            #expect(
                outcome.lines.first
                    == "no earthquakes yet; to import those of the last day: quakes import all_day")
            #expect(outcome.lines.last?.hasPrefix("token 0, ") == true)
        }
    }

    @Test(
        "prune prints what it removed, and for which reader it kept more; status shows which reader needs a snapshot"
    )
    func prune() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("select history.report('slow', 1)")
            try await database.query("update quake set magnitude = 2")

            try await database.execute(
                """
                insert into import.run (source, outcome, started, finished)
                select 'a', 'done', now() - interval '1 day', now() - interval '1 day' from generate_series(1, 3)
                """)

            let young = try await quakes.run("prune", "--keep", "1d")
            let spared = try await quakes.run("prune", "--keep", "0s")
            let all = try await quakes.run(
                "prune", "--keep", "0s", "--keep-at-most", "0s", "--keep-runs", "1h")
            let status = try await quakes.run("status")

            #expect([young, spared, all].map(\.status) == [0, 0, 0])
            #expect(young.lines[0] == "pruned 0 transactions with 0 changes; history begins after token 0")
            #expect(young.lines[1] == "pruned 0 runs and 0 rejects")
            #expect(young.errors == "")
            #expect(spared.lines[0] == "pruned 1 transactions with 2 changes; history begins after token 1")
            #expect(
                spared.errors == "quakes: kept older history for reader slow; --keep-at-most limits this\n")
            #expect(all.lines[0] == "pruned 1 transactions with 2 changes; history begins after token 2")
            #expect(all.lines[1] == "pruned 2 runs and 0 rejects")
            #expect(all.errors == "")
            #expect(status.output.contains("needs a fresh snapshot"))
        }
    }

    @Test("A cited token survives pruning, is listed with its reason, and can be released")
    func cite() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            for magnitude in ["1", "2", "3"] {
                let updated = 1000 * (Int(magnitude) ?? 0)
                try await database.importFeatures([
                    SmallFeed.feature("a", updated: updated, magnitude: magnitude)
                ])
            }
            let cited = try await quakes.run("cite", "paper", "--as-of", "2", "--reason", "Figure 3")
            #expect(cited.status == 0 && cited.errors == "")
            let word = try #require(cited.lines.last?.firstMatch(of: #/^cite it as asof=(2_\S+)$/#)?.1)
            let again = try await quakes.run("cite", "paper", "--reason", "x")
            #expect(again.status == 64 && again.errors.contains("the citation paper already exists"))
            #expect(try await quakes.run("cite", "other").status == 64, "a citation needs a reason")

            // The reader is older than --keep-at-most, so only the citation keeps history.
            try await database.query("select history.report('slow', 2)")
            let pruned = try await quakes.run("prune", "--keep", "0s", "--keep-at-most", "0s")
            #expect(pruned.lines[0].hasSuffix("; history begins after token 2"))
            #expect(
                pruned.errors
                    == "quakes: kept older history for the citation paper; quakes cite NAME --release releases it\n"
            )
            try await database.query("delete from history.reader")
            let past = try await quakes.run("list", "--as-of", "\(word)", "--format", "ndjson")
            #expect(past.status == 0 && past.output.contains("\"magnitude\":2.0"))
            let listed = try await quakes.run("cite").lines
            #expect(listed.count == 2 && listed[1].contains("paper") && listed[1].contains("Figure 3"))
            let gone = try await quakes.run("cite", "older", "--as-of", "1", "--reason", "x")
            #expect(gone.status == 66 && gone.errors.contains("history does not reach that far back"))

            #expect(try await quakes.run("cite", "paper", "--release").output == "released paper\n")
            #expect(try await quakes.run("cite", "paper", "--release").status == 66)
            #expect(try await quakes.run("cite").errors == "quakes: nothing is cited\n")
            let all = try await quakes.run("prune", "--keep", "0s")
            #expect(all.lines[0].hasSuffix("; history begins after token 3") && all.errors == "")
            #expect(try await quakes.run("list", "--as-of", "2").status == 66)
        }
    }

    @Test("`quakes changes` says where a pruned history begins, and refuses an earlier token")
    func prunedChanges() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures([SmallFeed.feature("a")])
            let whole = try await quakes.run("changes", "--format", "ndjson")
            try await database.query("update quake set magnitude = 2")
            try await database.query("select history.prune('0', null, 1)")

            let rest = try await quakes.run("changes", "--format", "ndjson")
            let zero = try await quakes.run("changes", "--after", "0")
            let asked = try await quakes.run("changes", "--after", "1", "--format", "ndjson")
            let past = try await quakes.run("list", "--as-of", "0")

            #expect(whole.status == 0 && whole.lines.count == 1 && whole.errors == "")
            #expect(rest.status == 0 && rest.lines.count == 1)
            #expect(rest.errors.wholeMatch(of: /quakes: history begins after token 1, 20\S+Z\n/) != nil)
            #expect(asked.status == 0 && asked.output == rest.output && asked.errors == "")
            for refused in [zero, past] {
                #expect(refused.status == 66 && refused.output == "")
                #expect(refused.errors.contains("history begins after token 1, 20"))
            }
        }
    }

    @Test("A login from which a policy hides rows cannot read the history until the login may see every row")
    func rowSecurity() async throws {
        try await server.withRoles { roles in
            let owner = roles.database
            try await owner.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b", net: "q1")])
            try await owner.query("update quake set magnitude = 3")
            try await owner.execute(
                "alter table quake enable row level security; create policy own on quake using (net = 'q0')")
            let reader = roles.login(.reader)
            let quakes = QuakesCommand(["DATABASE_URL": reader.url])
            let commands = [
                ["list", "--as-of", "1"], ["changes"], ["show", "q1b"],
                ["follow", "--once", "--format", "ndjson"],
            ]

            #expect(try await quakes.run("list", "--format", "csv").lines.count == 2)
            for command in commands {
                let outcome = try await quakes.run(command)
                #expect(outcome.status == 69 && outcome.output.isEmpty, "\(command): \(outcome.output)")
                #expect(outcome.errors.contains("bypassrls"), "\(command): \(outcome.errors)")
            }
            for query in ["history.shape('quake')", "(select count(*) from history.changes(0, 'quake'))"] {
                await #expect {
                    try await reader.query("select \(unescaped: query)")
                } throws: { ($0 as? PostgresError)?.sqlState == "42501" }
            }
            #expect(try await QuakesCommand(["DATABASE_URL": owner.url]).run("changes").status == 0)

            try await owner.execute("alter role \(roles.loginName(.reader)) bypassrls")
            for command in commands {
                let outcome = try await quakes.run(command)
                #expect(
                    outcome.status == 0 && outcome.output.contains("q1b"), "\(command): \(outcome.errors)")
            }
        }
    }
}
