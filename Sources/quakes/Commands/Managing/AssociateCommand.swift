import ArgumentParser
import Association
import Feed
import PostgreSQL
import QuakeStore

struct AssociateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "associate",
        abstract: "Group the events of different agencies that are the same earthquake.",
        discussion: """
            Groups the events that have changed since the last time, chooses which event of each group to show, and exits. With \
            --follow, the command continues until it is stopped. A daemon (quakes import --every) does the same as soon as the \
            catalogue has a second agency. The groups are in the tables earthquake and earthquake_member, and in the reports \
            earthquake and solution. They depend only on the events, not on the order in which the events were imported.

            Your own decisions override every rule until you take them back:

                quakes associate --same us7000abcd emsc:20261003_0000060 \\
                    --reason "same aftershock"
                quakes associate --different us7000abcd gfz:gfz2026texh
                quakes associate --prefer gfz:gfz2026texh
                quakes associate --take-back us7000abcd emsc:20261003_0000060

            --why CODE lists the comparisons of an event with others: the cost of each pair, and whether the pair was joined. \
            --doubtful lists the events that would fit another earthquake nearly as well.

            --fit measures the scatter of the agencies in this catalogue, and prints a parameters file with the result. \
            --parameters FILE uses such a file from then on, and groups all events again; "shipped" stands for the parameters \
            that are part of the program:

                quakes associate --fit > parameters.txt
                quakes associate --parameters parameters.txt

            The login needs the roles quakes_writer and quakes_reader.
            """)

    @Flag(help: "Follow the changes until stopped.")
    var follow = false

    @Flag(help: "Group all events again.")
    var rebuild = false

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("These two events are one earthquake.", valueName: "code"))
    var same: [String] = []

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("These two events are different earthquakes.", valueName: "code"))
    var different: [String] = []

    @Option(help: ArgumentHelp("Show this event for its earthquake.", valueName: "code"))
    var prefer: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            "Take back your decision about these two events, or the preference for one event.",
            valueName: "code"))
    var takeBack: [String] = []

    @Option(
        help: ArgumentHelp(
            "The reason, which is stored with --same, --different or --prefer.", valueName: "text"))
    var reason: String?

    @Option(help: ArgumentHelp("Show why an event is in its earthquake.", valueName: "code"))
    var why: String?

    @Flag(help: "List the events that would fit another earthquake nearly as well.")
    var doubtful = false

    @Flag(help: "Print parameters that fit this catalogue.")
    var fit = false

    @Option(
        help: ArgumentHelp("Use these parameters from now on: a file, or shipped.", valueName: "file"))
    var parameters: String?

    @Option(help: "With --why or --doubtful: a table for people, or one JSON object per line.")
    var format = LineFormat.table

    @OptionGroup var database: DatabaseOptions

    private var said: [Override] {
        (same.isEmpty ? [] : [.same(ExactText(same[0]), ExactText(same[1]))])
            + (different.isEmpty ? [] : [.different(ExactText(different[0]), ExactText(different[1]))])
            + (prefer.map { [.preferred(ExactText($0))] } ?? [])
    }

    func validate() throws {
        for (name, codes) in [("--same", same), ("--different", different)] where !codes.isEmpty {
            guard codes.count == 2, ExactText(codes[0]) != ExactText(codes[1]) else {
                throw ValidationError("\(name) takes the codes of two events")
            }
        }
        guard said.count + (takeBack.isEmpty ? 0 : 1) <= 1 else {
            throw ValidationError("give one of --same, --different, --prefer and --take-back")
        }
        guard !(same + different + takeBack + [prefer ?? "x"]).contains("") else {
            throw ValidationError("a code can't be empty")
        }
        guard takeBack.count <= 2 else { throw ValidationError("--take-back takes one code or two") }
        guard reason == nil || !said.isEmpty else {
            throw ValidationError("--reason needs --same, --different or --prefer")
        }
        let questions = [why != nil, doubtful, fit].filter(\.self).count
        let changes = !said.isEmpty || !takeBack.isEmpty || parameters != nil || rebuild || follow
        guard questions == 0 || questions == 1 && !changes else {
            throw ValidationError("--why, --doubtful and --fit change nothing; give one of them alone")
        }
    }

    func run() async throws {
        let text = try parameters.map(Self.parametersFile)
        let database = try await database.located()
        if let why { return try await explain(why, in: database) }
        if doubtful { return try await listDoubtful(in: database) }
        if fit {
            let text = try await database.withConnection(for: .reader) {
                try await FittedParameters.text(on: $0)
            }
            return StandardOutput.write(text)
        }
        // A signal is the normal end of following, but not before the decisions are stored.
        var isStored = said.isEmpty && takeBack.isEmpty && parameters == nil
        do {
            // Association also reads overwritten values, for which the login needs the reader's role.
            try await database.namingGrants(for: .reader) {
                if follow { try await database.waitUntilFit(for: .writer) }
                try await database.withConnection(for: .writer) { connection in
                    if let text { try await FittedParameters.keep(text, on: connection) }
                    for override in said {
                        try await Overrides.say(override, because: reason, on: connection)
                    }
                    if !takeBack.isEmpty, try await !Overrides.takeBack(takeBack, on: connection) {
                        throw Failure(
                            .noInput, "there is no decision about \(takeBack.joined(separator: " and "))")
                    }
                    isStored = true
                    try await associate(on: connection, in: database)
                }
                guard follow else { return }
                let associator = Associator(logger: database.logger)
                try await Follower(
                    database.options, view: associator, name: Associator.readerName, logger: database.logger
                ).run()
            }
        } catch is CancellationError where follow && isStored {}
    }

    /// - Returns: the text of the file; nil for the parameters that are part of the program.
    /// - Throws: `Failure` if the file or one of its lines cannot be read.
    private static func parametersFile(_ path: String) throws -> String? {
        if path == "shipped" { return nil }
        let text = String(decoding: try contents(ofFile: path), as: UTF8.self)
        _ = try Parameters(text: text)
        return text
    }

    private func associate(on connection: Connection, in database: Database) async throws {
        let associator = Associator(logger: database.logger)
        let outcome: Associator.Outcome
        do {
            outcome = try await associator.associate(rebuilds: rebuild, on: connection)
        } catch {
            if parameters != nil || !said.isEmpty || !takeBack.isEmpty {
                StandardError.say(
                    "nothing was associated, but your decisions are stored; the next association applies them"
                )
            }
            // This session's wait for the other session's lock has timed out.
            guard (error as? PostgresError)?.sqlState == "55P03" else { throw error }
            throw Failure(.busy, "another session is associating; try again later")
        }
        if follow { return }
        try await associator.reportAgain(after: outcome, on: connection)
        let counts = try await AssociationQueries.counts(on: connection)
        StandardOutput.print(
            """
            \(outcome.written == 0 ? "nothing has changed" : "\(outcome.written) rows written"): \
            \(counts.earthquakes) earthquake\(counts.earthquakes == 1 ? "" : "s") of several events, \
            \(counts.doubtful) doubtful event\(counts.doubtful == 1 ? "" : "s")
            """)
    }

    private func explain(_ code: String, in database: Database) async throws {
        let explanation = try await database.withConnection(for: .reader) {
            try await AssociationQueries.explain(code, on: $0)
        }
        if format == .table { StandardOutput.print(explanation.summary) }
        if explanation.steps.isEmpty { return }
        let listing = Listing(format.form(Explanation.Step.columns, \.json))
        for step in explanation.steps { listing.append(step) }
        listing.finish("the first")
    }

    private func listDoubtful(in database: Database) async throws {
        let found = try await database.withConnection(for: .reader) {
            try await AssociationQueries.doubtful(on: $0)
        }
        let listing = Listing(format.form(AssociationQueries.Doubtful.columns, \.json))
        for one in found { listing.append(one) }
        listing.finish("the latest")
    }
}
