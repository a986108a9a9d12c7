import ArgumentParser
import Feed
import QuakeStore
import QuakeView
import Synchronization

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List earthquakes, newest first.")

    @Option(
        help: ArgumentHelp(
            "Only events from this time on, such as 2h, 7d, 2014-04-15 or 2014-04-15T12:00Z.",
            valueName: "since"))
    var since: TimeArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this magnitude or more.", valueName: "m"))
    var minMagnitude: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events near this point, in degrees; needs --within.", valueName: "lat,lon"))
    var near: Coordinate?

    @Option(help: ArgumentHelp("How far from --near events may be, in km.", valueName: "km"))
    var within: Double?

    @Option(
        help: ArgumentHelp(
            "List at most this many; 0 for all. (default: 20 for a table, otherwise all)", valueName: "n"))
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            "Show the table as it was after this token, or at this time.", valueName: "token|time"))
    var asOf: PastMoment?

    @Option(
        help: ArgumentHelp(
            "Read this file, which quakes follow keeps up to date; needs no database.", valueName: "file"))
    var view: String?

    @Option(help: "The format of the list.")
    var format = QuakeFormat.table

    @OptionGroup var spreadsheet: SpreadsheetOption
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var log: LogOptions

    func validate() throws {
        guard (near == nil) == (within == nil) else {
            throw ValidationError("--near and --within must be given together")
        }
        if let limit, limit < 0 { throw ValidationError("--limit must not be negative") }
        if view != nil, asOf != nil {
            throw ValidationError("--as-of cannot be used with --view: a view has no past")
        }
        if view != nil, database.isGiven {
            throw ValidationError("--view cannot be used with --database or --local")
        }
        if let within, within < 0 { throw ValidationError("--within must not be negative") }
        try spreadsheet.validate(isCSV: format == .csv)
    }

    func run() async throws {
        if let view { return try listView(view) }
        try await database.withConnection(for: .reader, log.logger()) { connection in
            let writer = Mutex(format.writer(csv: spreadsheet.csv))
            try await selection.forEach(on: connection) { quake in
                writer.withLock { $0.append(quake) }
            }
            writer.withLock { $0.finish() }
        }
    }

    private func listView(_ path: String) throws {
        var writer = format.writer(csv: spreadsheet.csv)
        let position = try ViewFile(path).forEach(selection) { writer.append($0) }
        writer.finish()
        StandardError.print("quakes: \(path) is as of token \(position.token), \(position.committedAt)")
    }

    private var selection: QuakeSelection {
        var selection = QuakeSelection()
        selection.since = since?.instant
        selection.minimumMagnitude = minMagnitude
        if let near, let within {
            selection.near = .init(latitude: near.latitude, longitude: near.longitude, kilometres: within)
        }
        selection.asOf = asOf
        selection.limit = limit ?? (format == .table ? 20 : 0)
        if selection.limit == 0 { selection.limit = nil }
        return selection
    }
}
