import ArgumentParser
import Feed
import QuakeStore

struct CiteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cite",
        abstract: "Keep the history since a moment that you cite, or list the citations.",
        discussion: """
            quakes prune never removes the history since the oldest cited moment. The command prints a position to cite. A query \
            with asof=POSITION returns the same events as long as the citation is kept.

                quakes cite ridgecrest-2026 --as-of 2026-11-21T09:00Z \\
                    --reason "Figure 3 of Doe et al."
                quakes cite
                quakes cite ridgecrest-2026 --release

            Without a name, the command lists the citations. To keep or release one, the login needs the role quakes_owner.
            """)

    @Argument(help: "The name of the citation.")
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The moment: a time, a token or a position. (default: now)", valueName: "time|token|position"))
    var asOf: PastMoment?

    @Option(help: ArgumentHelp("The reason for the citation; required with a name.", valueName: "text"))
    var reason: String?

    @Flag(help: "Release the citation, so that quakes prune may remove its history.")
    var release = false

    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if let name, name.isEmpty || !release && name.utf8.count > 200 {
            throw ValidationError("a citation's name must have 1 to 200 bytes")
        }
        guard name != nil else {
            if asOf != nil || reason != nil || release {
                throw ValidationError("--as-of, --reason and --release need a name")
            }
            return
        }
        if release {
            if asOf != nil || reason != nil {
                throw ValidationError("--release takes neither --as-of nor --reason")
            }
        } else if reason?.isEmpty ?? true {
            throw ValidationError("a citation needs a --reason: people will ask why the history is so long")
        }
    }

    func run() async throws {
        guard let name else {
            let kept = try await database.withConnection(for: .reader) { try await Citation.all(on: $0) }
            StandardOutput.write(kept.table(Citation.columns, at: StandardOutput.terminal))
            if kept.isEmpty { StandardError.say("nothing is cited") }
            return
        }
        let shown = strippingControlCharacters(name)
        if release {
            let wasThere = try await database.withConnection(for: .owner) {
                try await Citation.release(name, on: $0)
            }
            guard wasThere else { throw Failure(.noInput, "there is no citation \(shown)") }
            return StandardOutput.print("released \(shown)")
        }
        let cited = try await database.withConnection(for: .owner) {
            try await Citation.keep(asOf, as: name, because: reason ?? "", on: $0)
        }
        StandardOutput.print(
            "kept \(shown), the catalogue as of \(cited.position.committedAt)\ncite it as asof=\(cited.position.word)"
        )
    }
}

extension Citation {
    fileprivate static var columns: [Column<Citation>] {
        [
            Column("name", minimumWidth: 10, flexible: true) { $0.name },
            Column("as of (UTC)") { String($0.position.committedAt.prefix(19)).replacing("T", with: " ") },
            Column("token", .right) { "\($0.position.token)" },
            Column("reason", minimumWidth: 20, flexible: true, breaking: .text) { $0.reason },
            Column("by", priority: 2) { $0.author },
            Column("cited (UTC)", priority: 1) { $0.citedAt.shortText },
            Column("position", priority: 3) { $0.position.word },
        ]
    }
}
