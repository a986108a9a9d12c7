import ArgumentParser
import QuakeStore

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List earthquakes, newest first.",
        discussion: """
            Times are in UTC. --local-time shows local times with their offset from UTC. The zone is that of the environment \
            variable TZ or, without it, that of the system:

                quakes list --since yesterday --min-magnitude 4.5
                quakes list --merge --since 7d --min-magnitude 5
                quakes list --box 30,129,46,146 --until 2011-03 --sort magnitude
                TZ=Asia/Tokyo quakes list --near 35.7,139.7 --within 300 --local-time
            """)

    @OptionGroup var selection: SelectionOptions

    @Option(
        help: ArgumentHelp(
            "Begin with the newest (time), the largest (magnitude) or the nearest to --near (distance).",
            valueName: "time|magnitude|distance"))
    var sort = QuakeSelection.Order.time

    @OptionGroup var limit: LimitOption

    @Option(help: "The format of the list.")
    var format = QuakeFormat.table

    @Flag(help: "Show times in the local zone instead of UTC, in a table.")
    var localTime = false

    @OptionGroup var spreadsheet: SpreadsheetOption
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        if sort == .distance, selection.near == nil {
            throw ValidationError("--sort distance needs --near and --within")
        }
        if localTime, format != .table {
            throw ValidationError("--local-time needs --format table: other formats have times in UTC")
        }
        if selection.merge, format == .quakeml {
            throw ValidationError(
                "--merge cannot be used with --format quakeml: ask the event service of quakes serve, with includeallorigins=true"
            )
        }
        try selection.validate(with: database)
        try spreadsheet.validate(isCSV: format == .csv)
    }

    func run() async throws {
        let rowLimit = limit.rows(isTable: format == .table)
        var quakes = selection.selection
        quakes.order = sort
        quakes.limit = rowLimit.reading
        let form = format.form(
            csv: spreadsheet.csv, near: quakes.near, times: localTime ? .local : .utc,
            isMerged: selection.merge)
        let listing = Listing(form, limit: rowLimit)
        let source = try await selection.located(database)
        let whyEmpty = try await selection.forEach(quakes, in: source, listing.append)
        listing.finish("the first")
        if format == .table, let whyEmpty { StandardError.say(whyEmpty) }
    }
}

extension QuakeSelection.Order: ExpressibleByArgument {}
