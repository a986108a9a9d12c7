import ArgumentParser
import Feed
import QuakeStore
import QuakeView
import Synchronization

/// The options that select earthquakes, for all commands that show some.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only events from this time on: 2h, 7d, 1mo, 1y, 3 h ago, yesterday, 2014, 2014-04, 2014-04-15 or 2014-04-15T12:00Z. Days, months and years are those of UTC.",
            valueName: "time"))
    var since: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "Only events before this time. A day, month or year counts to its end: --until 2014-04 includes all of April.",
            valueName: "time"))
    var until: TimeArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this magnitude or more.", valueName: "m"))
    var minMagnitude: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this magnitude or less.", valueName: "m"))
    var maxMagnitude: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this depth or more, in km.", valueName: "km"))
    var minDepth: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only events of this depth or less, in km.", valueName: "km"))
    var maxDepth: Double?

    @Option(
        name: .customLong("code"),
        help: ArgumentHelp("Only events with these codes, such as us7000abcd,ci38457511.", valueName: "codes")
    )
    var codes: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only events of these types, such as earthquake or 'quarry blast,explosion'. An event without a type is an earthquake.",
            valueName: "types"))
    var type: [String] = []

    @Option(
        help: ArgumentHelp("Only events of these networks, such as us or nc,ci.", valueName: "nets"))
    var net: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only events of these agencies, such as gfz,emsc; usgs stands for all networks of its catalogue.",
            valueName: "agencies"),
        transform: agencies)
    var agency: [[Agency]] = []

    @Flag(
        help:
            "Show each earthquake once, even if several agencies report it: its preferred solution, with a magnitude that may come from another agency (see quakes associate). --agency and --net then select the earthquakes that at least one of the given agencies or networks reports."
    )
    var merge = false

    @Option(
        help: ArgumentHelp(
            "Only events whose place contains this text, in upper or lower case.", valueName: "text"),
        transform: placeText)
    var place: PlaceText?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only events near this point, in degrees, or near this town, such as Rome or 'Valencia, Spain'; needs --within.",
            valueName: "lat,lon|town"),
        transform: NearPoint.init)
    var near: NearPoint?

    @Option(help: ArgumentHelp("How far from --near events may be, in km.", valueName: "km"))
    var within: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only events in this box: its south-western and its north-eastern corner, in degrees. West may be greater than east: 50,170,55,-170 lies across the date line.",
            valueName: "south,west,north,east"),
        transform: box)
    var box: QuakeSelection.Box?

    @Option(
        help: ArgumentHelp(
            "Show the table as it was at this time, or after this token or position.",
            valueName: "time|token|position"))
    var asOf: PastMoment?

    @Option(
        help: ArgumentHelp(
            "Read this file, which quakes follow keeps up to date; needs no database.", valueName: "file"))
    var view: String?

    func validate() throws {
        guard (near == nil) == (within == nil) else {
            throw ValidationError("--near and --within must be given together")
        }
        for (option, number) in [
            ("--within", within), ("--min-magnitude", minMagnitude), ("--max-magnitude", maxMagnitude),
            ("--min-depth", minDepth), ("--max-depth", maxDepth),
        ] where number?.isNaN == true {
            throw ValidationError("\(option) takes a number")
        }
        if let within, within < 0 {
            throw ValidationError("--within must not be negative, but is \(within)")
        }
        if let since, let until, until.end <= since.instant {
            throw ValidationError("--until must be later than --since")
        }
        if let minMagnitude, let maxMagnitude, minMagnitude > maxMagnitude {
            throw ValidationError(
                "--min-magnitude \(minMagnitude) is greater than --max-magnitude \(maxMagnitude)")
        }
        if let minDepth, let maxDepth, minDepth > maxDepth {
            throw ValidationError("--min-depth \(minDepth) is greater than --max-depth \(maxDepth)")
        }
        if Self.words(codes)?.isEmpty == true { throw ValidationError("--code names no event") }
        if types?.isEmpty == true { throw ValidationError("--type names no type") }
        if Self.words(net)?.isEmpty == true { throw ValidationError("--net names no network") }
        if !net.isEmpty, !agency.isEmpty {
            throw ValidationError("--net and --agency cannot be used together")
        }
        if view != nil, asOf != nil {
            throw ValidationError("--as-of cannot be used with --view: a view has no past")
        }
        if view != nil, merge {
            throw ValidationError(
                "--merge cannot be used with --view: a view does not contain the groups of quakes associate")
        }
    }

    func validate(with database: DatabaseOptions) throws {
        if view != nil, database.isGiven {
            throw ValidationError("--view cannot be used with --database or --local")
        }
    }

    var selection: QuakeSelection {
        var selection = QuakeSelection()
        selection.since = since?.instant
        selection.until = until?.end
        if minMagnitude != nil || maxMagnitude != nil {
            selection.ranges[.magnitude] = (minMagnitude ?? -.infinity)...(maxMagnitude ?? .infinity)
        }
        if minDepth != nil || maxDepth != nil {
            selection.ranges[.depth] = (minDepth ?? -.infinity)...(maxDepth ?? .infinity)
        }
        selection.values[.code] = Self.words(codes)
        selection.types = types
        selection.values[.net] = networks
        selection.place = place
        if let near, let within {
            selection.near = .init(latitude: near.latitude, longitude: near.longitude, kilometres: within)
        }
        selection.box = box
        selection.asOf = asOf
        selection.isMerged = merge
        return selection
    }

    var types: [String]? { Self.words(type) }

    /// The networks of --net, or those of the agencies of --agency; nil for all networks.
    private var networks: [String]? {
        Self.words(net) ?? (agency.isEmpty ? nil : agency.flatMap(\.self).flatMap(\.networks))
    }

    private static func agencies(_ text: String) throws -> [Agency] {
        try text.split(at: ",").map { part in
            let name = part.trimmingPrefix { $0 == " " }.lowercased()
            guard let agency = Agency.named(name) else {
                let names = Agency.known.map(\.name)
                let meant = closestSpelling(of: name, among: names).map { "; did you mean \($0)?" } ?? ""
                throw ValidationError(
                    "--agency \(name) is none of \(names.joined(separator: ", "))\(meant); select other networks with --net"
                )
            }
            return agency
        }
    }

    /// The selected agencies or networks in words, such as `GFZ or EMSC`; nil for all.
    var source: String? {
        if !agency.isEmpty {
            return agency.flatMap(\.self).map(\.label).joined(separator: " or ")
        }
        return Self.words(net).map { "network \($0.joined(separator: " or "))" }
    }

    /// The comma-separated values of an option that may be repeated; nil if the option is not given.
    private static func words(_ texts: [String]) -> [String]? {
        if texts.isEmpty { return nil }
        return texts.flatMap { $0.split(at: ",") }
            .map { String($0.trimmingPrefix { $0 == " " }) }.filter { !$0.isEmpty }
    }

    private static func placeText(_ text: String) throws -> PlaceText {
        guard let place = PlaceText(text) else { throw ValidationError("--place must not be empty") }
        return place
    }

    private static func box(_ text: String) throws -> QuakeSelection.Box {
        let numbers = NearPoint.numbers(text)
        guard numbers.count == 4, let south = numbers[0], let west = numbers[1], let north = numbers[2],
            let east = numbers[3]
        else { throw ValidationError("--box \(text) is not of the form SOUTH,WEST,NORTH,EAST, in degrees") }
        guard abs(south) <= 90, abs(north) <= 90 else {
            throw ValidationError(
                "--box \(text): a latitude is beyond ±90; the order is SOUTH,WEST,NORTH,EAST")
        }
        guard abs(west) <= 360, abs(east) <= 360 else {
            throw ValidationError("--box \(text): a longitude is beyond ±360")
        }
        guard south <= north else {
            throw ValidationError("--box \(text): the southern latitude is greater than the northern one")
        }
        return .init(south: south, west: west, north: north, east: east)
    }
}

extension SelectionOptions {
    /// Passes each selected earthquake to `body`.
    ///
    /// - Returns: the reason why there are no earthquakes; nil if there are some.
    func forEach(
        _ selection: QuakeSelection, in source: QuakeSource,
        _ body: @escaping @Sendable (ListedQuake) throws -> Void
    ) async throws -> String? {
        let isEmpty = Mutex(true)
        let counted: @Sendable (Quake, EarthquakeGroup?) throws -> Void = { quake, group in
            isEmpty.withLock { $0 = false }
            try body(ListedQuake(quake: quake, group: group))
        }
        let noMatch = "no earthquakes match"
        switch source {
        case .view(let path):
            let position = try ViewFile(path).forEach(selection) { try counted($0, nil) }
            StandardError.say("\(path) is as of token \(position.token), \(position.committedAt)")
            return isEmpty.withLock { $0 } ? noMatch : nil
        case .database(let database):
            return try await database.withConnection(for: .reader) { connection in
                if selection.isMerged {
                    try await selection.forEachGrouped(on: connection, counted)
                } else {
                    try await selection.forEach(on: connection) { try counted($0, nil) }
                }
                guard isEmpty.withLock({ $0 }) else { return nil }
                return try await CatalogueStatus.isEmpty(on: connection)
                    ? "there are no earthquakes yet; to import those of the last day: quakes import all_day"
                    : noMatch
            }
        }
    }
}
