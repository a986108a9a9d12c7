import ArgumentParser
import Feed
import QuakeStore

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether the data are fresh, what failed, and how far behind the readers are.",
        discussion: """
            For each source: when its newest document was made, when it was last imported successfully or found \
            unchanged, and the time since then.

            For a monitor: with --max-age, --max-document-age or --max-lag, the exit code is 69 if a source has not been \
            imported successfully for too long, if its newest document is too old, or if a named reader is too far behind. \
            Standard error names each of them. With --quiet, the command prints nothing else, and nothing at all if no limit \
            is exceeded:

                quakes status --max-age 15m --max-document-age 1h --max-lag 5m --quiet

            If no source is named, --max-age and --max-document-age check the sources that a daemon (--every) imports, and the \
            URLs that were imported successfully at least once. A file, standard input, or a URL that was never imported \
            successfully is checked only if it is named. quakes forget drops a source that is no longer imported.

            For each receiver of quakes notify: how many messages are waiting, since when and why deliveries fail, and how many \
            messages were given up.

            --sources shows the known agencies instead, with the URLs of their event services, and the terms under which their \
            data may be shown. It needs no database.

            Without --reader, --max-lag checks every reader that ever reported its position under a name. A monitor for one \
            reader should name that reader. quakes forget --reader drops a removed reader.
            """)

    @Argument(help: "Only these sources. (default: all)")
    var sources: [FeedSource] = []

    @Option(help: ArgumentHelp("How old a source's last successful import may be.", valueName: "duration"))
    var maxAge: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "How old a source's newest document may be, by the date in the document: a feed may be reachable but no longer updated.",
            valueName: "duration"))
    var maxDocumentAge: DurationArgument?

    @Option(help: ArgumentHelp("How far behind a named reader may be.", valueName: "duration"))
    var maxLag: DurationArgument?

    @Option(
        name: .customLong("reader"),
        help: ArgumentHelp(
            "Only the reader of this name. Can be given several times. (default: all)", valueName: "name"))
    var readers: [String] = []

    @Flag(
        name: .customLong("sources"), help: "Show the agencies and the terms of their data, and nothing else."
    )
    var showsAgencies = false

    @Flag(
        name: .shortAndLong,
        help: "Print only the sources and readers that exceed a limit: for cron, which mails all output.")
    var quiet = false

    @Option(help: "Text for people, or one JSON object.")
    var format = Format.table

    @OptionGroup var database: DatabaseOptions

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case table, json
    }

    func validate() throws {
        if quiet, maxAge == nil, maxDocumentAge == nil, maxLag == nil {
            throw ValidationError("--quiet needs --max-age, --max-document-age or --max-lag")
        }
    }

    func run() async throws {
        if showsAgencies {
            switch format {
            case .json: StandardOutput.print(Agency.known.json.jsonText)
            case .table: StandardOutput.write(Agency.known.table(Agency.columns, at: StandardOutput.terminal))
            }
            return
        }
        let status = try await database.withConnection(for: .reader) { connection in
            // A monitor must not wait in silence while another session has locked the table.
            try await connection.execute(script: "set lock_timeout = '5s'", to: "limit the wait for locks")
            return Status(
                catalogue: try await CatalogueStatus.read(on: connection),
                imports: try await ImportStatus.read(of: sources, on: connection),
                history: try await HistoryStatus.read(of: readers, on: connection),
                notify: try await NotifyStatus.read(on: connection))
        }
        switch format {
        case _ where quiet: break
        case .json: StandardOutput.print(status.json.jsonText)
        case .table: StandardOutput.write(status.text(at: StandardOutput.terminal))
        }
        let limits = Status.Limits(
            age: maxAge?.duration, documentAge: maxDocumentAge?.duration, lag: maxLag?.duration)
        let complaints = status.complaints(limits, asked: sources)
        for complaint in complaints {
            StandardError.say(strippingControlCharacters(complaint), level: .warning)
        }
        if !complaints.isEmpty { throw ExitCode(ExitStatus.unavailable) }
    }
}
