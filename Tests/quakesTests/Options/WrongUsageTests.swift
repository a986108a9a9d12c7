import TestSupport
import Testing

/// Errors name the value, the option and the allowed values, or suggest what was probably meant.
@Suite("Wrong usage")
struct WrongUsageTests {
    let server = TestServer.shared

    @Test(
        "The error names the refused argument, and what is allowed",
        arguments: [
            (["improt"], "There is no command 'improt'. Did you mean 'import'?"),
            (["database", "strat"], "There is no command 'strat'. Did you mean 'start'?"),
            (
                ["database", "xyz"],
                "There is no command 'xyz'. The commands are start, stop, status, url, shell."
            ),
            (["list", "--limt", "3"], "Unknown option '--limt'. Did you mean '--limit'?"),
            (
                ["list", "--near", "135,35", "--within", "9"],
                "The value '135,35' is invalid for '--near <lat,lon|town>': the latitude, which comes first, is beyond ±90"
            ),
            (
                ["list", "--near", "35,x", "--within", "9"],
                "The value '35,x' is invalid for '--near <lat,lon|town>': it takes a latitude and a longitude in degrees, such as 35.8,-117.6"
            ),
            (
                ["list", "--near", "Rmoe", "--within", "9"],
                "The value 'Rmoe' is invalid for '--near <lat,lon|town>': it takes a latitude and a longitude in degrees, such as 35.8,-117.6, or one of some 1,200 large towns, and Rmoe is none of them; did you mean Rome?"
            ),
            (
                ["list", "--near", "valencia", "--within", "9"],
                "The value 'valencia' is invalid for '--near <lat,lon|town>': several towns have this name: give 'Valencia, Spain' or 'Valencia, Venezuela', or a latitude and a longitude"
            ),
            (
                ["plot", "section", "--from", "Tokyo"],
                "quakes plot section needs --from LAT,LON and --to LAT,LON"
            ),
            (["plot", "time", "--width", "3"], "--from, --to and --width are for quakes plot section"),
            (
                ["plot", "section", "--from", "Rome", "--to", "Rome"],
                "--from and --to are the same place, or on opposite sides of the earth: they do not define a line"
            ),
            (
                ["list", "--as-of", "x"],
                "The value 'x' is invalid for '--as-of <time|token|position>': it takes a token, a position, or a time such as 2014-04-15, 2014-04-15T12:00Z, or 7d for seven days ago"
            ),
            (
                ["status", "--max-age", "15"],
                "The value '15' is invalid for '--max-age <duration>': it takes a number and a unit, such as 90s, 15m, 2h, 7d or 2w"
            ),
            (
                ["import", "x", "--max-rejects", "x%"],
                "The value 'x%' is invalid for '--max-rejects <n|p%>': it takes a whole number, or a percentage such as 2%"
            ),
            (
                ["import", "x", "--batch", "many"],
                "The value 'many' is invalid for '--batch <n>': it takes a whole number"
            ),
            (["import", "x", "--batch", "0"], "--batch must be at least 1, not 0"),
            (["import", "x", "--lanes", "99"], "--lanes must be 1 to 64, not 99"),
            (
                ["import", "http://127.0.0.1:1/changes", "--dry-run", "--every", "1m"],
                "--dry-run cannot be used with --every: it writes nothing, so each import would do the same"
            ),
            (
                ["plot", "aftershocks", "--mainshock", "a", "--radius", "inf"],
                "--radius must be greater than 0 and at most 20016, but is inf"
            ),
            (
                ["plot", "aftershocks", "--mainshock", "a", "--radius", "nan"],
                "--radius must be greater than 0 and at most 20016, but is nan"
            ),
            (
                ["plot", "aftershocks", "--mainshock", "a", "--days", "inf"],
                "--days must be greater than 0 and at most 36525, but is inf"
            ),
            (
                ["plot", "aftershocks", "--mainshock", "a", "--days", "nan"],
                "--days must be greater than 0 and at most 36525, but is nan"
            ),
            (
                ["plot", "aftershocks", "--mainshock", "a", "--days", "1e12"],
                "--days must be greater than 0 and at most 36525, but is 1000000000000.0"
            ),
            (
                ["sample", "--count", "9223372036854775807"],
                "--count takes 0 to 1000000000000, not 9223372036854775807"
            ),
            (
                ["serve", "--max-events", "9223372036854775807"],
                "--max-events takes 1 to 1000000000, not 9223372036854775807"
            ),
            (["serve", "--slow-client-timeout", "0s"], "--slow-client-timeout takes at least 1s"),
            (
                ["serve", "--base-url", "https://user:secret@example.org"],
                "--base-url takes a URL without a user and a password"
            ),
            (
                ["backfill", "--from", "1d", "--per-request", "1"],
                "--per-request takes 2 to 1000000000, not 1"
            ),
            (["forget"], "name what to forget: sources, or readers with --reader"),
            (
                ["status", "--format", "xml"],
                "The value 'xml' is invalid for '--format <format>'. Please provide one of 'table' and 'json'."
            ),
            (
                ["list", "--log-level", "loud"],
                "The value 'loud' is invalid for '--log-level <level>': it takes debug, info, notice, warning or error"
            ),
        ] as [([String], String)])
    func refused(arguments: [String], message: String) async throws {
        let outcome = try await QuakesCommand().run(arguments)

        #expect(outcome.status == 64)
        #expect(outcome.output == "")
        #expect(outcome.errors.hasPrefix("Error: \(message)\n"), "\(outcome.errors)")
        #expect(outcome.errors.contains("Usage: quakes"))
    }

    @Test(
        "A URL that is not for PostgreSQL is refused, and not shown",
        arguments: [
            "mysql://u:hunter2@h/d", "hunter2", "http:hunter2=3", "jdbc:postgresql://u:hunter2@h/d?a=b",
        ])
    func otherDatabase(url: String) async throws {
        let outcome = try await QuakesCommand().run("list", "--database", url)

        #expect(outcome.status == 64)
        #expect(
            outcome.errors.contains(
                "it is not a postgresql URL; write it as postgresql://user@host:5432/database"))
        #expect(!outcome.errors.contains("hunter2"))
    }

    @Test("A usage error that a command finds only at run time is printed with the usage of that command")
    func usageOfTheCommand() async throws {
        try await server.withDatabase { database in
            let outcome = try await QuakesCommand(["DATABASE_URL": database.url]).run("report", "aftershocks")
            #expect(outcome.status == 64 && outcome.output == "")
            #expect(
                outcome.errors == """
                    Error: aftershocks needs mainshock=VALUE, such as: quakes report aftershocks mainshock=us7000abcd
                    Usage: quakes report <options>
                      See 'quakes report --help' for more information.

                    """)
        }
    }

    @Test("An unknown earthquake, source or report gives an error that says so")
    func unknown() async throws {
        try await server.withDatabase { database in
            let quakes = QuakesCommand(["DATABASE_URL": database.url])
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            try await database.query("delete from quake where code = 'q0b'")
            for (arguments, status, message) in [
                (["changes", "--code", "q0x"], 66, "quakes: no such earthquake: q0x\n"),
                (["delete", "q0x"], 66, "quakes: no such earthquake: q0x; nothing was deleted\n"),
                (["report", "aftershocks", "mainshock=q0x"], 66, "quakes: no such earthquake: q0x\n"),
                (["report", "aftershock_rate", "mainshock=q0x"], 66, "quakes: no such earthquake: q0x\n"),
                (
                    ["report", "daily_activty"], 64,
                    "there is no report daily_activty; did you mean daily_activity?\n"
                ),
                (["import", "all_dya"], 66, "No such file or directory; did you mean all_day?\n"),
            ] as [([String], Int32, String)] {
                let outcome = try await quakes.run(arguments)
                #expect(outcome.status == status, "\(arguments)")
                #expect(outcome.errors.contains(message), "\(outcome.errors)")
            }
            let sources = try await database.query("select distinct source from import.run")
            #expect(sources.count == 1, "a misspelt name does not become a source")
            // A deleted event still has a history, and an event without aftershocks is not an error.
            for arguments in [
                ["changes", "--code", "q0a"], ["changes", "--code", "q0b"],
                ["report", "aftershocks", "mainshock=q0a"],
            ] {
                #expect(try await quakes.run(arguments).status == 0, "\(arguments)")
            }
        }
    }
}
