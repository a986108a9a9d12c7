import ArgumentParser
import Charts
import QuakeStore

struct PlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot",
        abstract: "Draw a diagram of earthquakes, as SVG or PNG.",
        discussion: """
            time shows magnitudes over time. magnitudes shows the number of earthquakes of each magnitude, with the \
            Gutenberg–Richter relation. cumulative shows the number of events over time. aftershocks shows how the rate of the \
            aftershocks of --mainshock falls with time, with Omori's law. section shows the depths below a line from --from to \
            --to. depths shows the number of events at each depth. In time and cumulative, the gaps of the catalogue are shaded.

            The fits follow the rules of the reports gutenberg_richter and aftershock_rate.

                quakes plot magnitudes --since 2019-07 --completeness 4.5 --output july.svg
                quakes plot aftershocks --mainshock ci38457511 --output aftershocks.png
                quakes plot section --from -20,-178 --to -20,-172 --output tonga.png
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case time, magnitudes, cumulative, aftershocks, section, depths
    }

    @Argument(help: "What to draw.")
    var kind: Kind

    @OptionGroup var selection: SelectionOptions

    @Option(help: ArgumentHelp("The earthquake whose aftershocks to draw.", valueName: "code"))
    var mainshock: String?

    @Option(
        help: ArgumentHelp(
            "The largest distance of aftershocks from the mainshock, in km. (default: by Gardner and Knopoff 1974)",
            valueName: "km"))
    var radius: Double?

    @Option(
        help: ArgumentHelp(
            "How many days after the mainshock to include. (default: by Gardner and Knopoff 1974)",
            valueName: "n"))
    var days: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "For magnitudes: the magnitude from which the catalogue is complete. (default: by maximum curvature)",
            valueName: "m"))
    var completeness: Double?

    @OptionGroup var line: SectionOptions
    @OptionGroup var picture: PictureOptions
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        try selection.validate(with: database)
        if line.isGiven, kind != .section {
            throw ValidationError("--from, --to and --width are for quakes plot section")
        }
        if kind == .section { _ = try line.section() }
        if let completeness, kind != .magnitudes || !(abs(completeness) <= 12) {
            throw ValidationError("--completeness takes a magnitude, and is for quakes plot magnitudes")
        }
        guard kind == .aftershocks else {
            if mainshock != nil || radius != nil || days != nil {
                throw ValidationError("--mainshock, --radius and --days are for quakes plot aftershocks")
            }
            return
        }
        try validateAftershocks()
    }

    func run() async throws {
        let source = try await selection.located(database)
        if let mainshock { return try await drawAftershocks(of: mainshock, in: source) }
        var chosen = selection.selection
        let section = kind == .section ? try line.section() : nil
        if let section, chosen.near == nil, chosen.box == nil {
            let circle = section.circle
            chosen.near = .init(
                latitude: circle.latitude, longitude: circle.longitude, kilometres: circle.kilometres)
        }
        let drawn = try await selection.portrait(of: chosen, in: source) {
            section?.contains(ChartEvent($0)) ?? true
        }
        let held = try await selection.held(in: source)
        let caption = drawn.caption(
            picture.title ?? selection.title(title, drawn, countsEarthquakes: kind == .magnitudes),
            selection.words,
            gaps: selection.gaps(held, drawn))
        try await picture.write(svg(drawn.events, selection.coverage(held), section, caption))
    }

    private func svg(
        _ events: [ChartEvent], _ coverage: Coverage, _ section: Section?, _ caption: Caption
    ) -> String {
        let magnitude = selection.minMagnitude
        switch kind {
        case .time: return Plot.time(events, coverage: coverage, from: magnitude, caption: caption)
        case .cumulative:
            return Plot.cumulative(events, coverage: coverage, from: magnitude, caption: caption)
        case .depths: return Plot.depths(events, caption: caption)
        case .section, .aftershocks:
            return section.map { Plot.section(events, along: $0, caption: caption) } ?? ""
        case .magnitudes:
            let relation = GutenbergRichter(events, completeness: completeness)
            if let fit = relation.fit, !fit.isGood {
                let remedy = relation.other.map { ", or --completeness \(Double($0.from) / 10)" } ?? ""
                StandardError.say(
                    "\(fit.words): the catalogue lacks some earthquakes of the fitted magnitudes, or it mixes several catalogues; choose a region\(remedy)"
                )
            }
            return Plot.magnitudes(relation, caption: caption)
        }
    }

    private var title: String {
        switch kind {
        case .time: "Magnitudes over time"
        case .magnitudes: "Magnitude–frequency distribution"
        case .cumulative: "Cumulative number of events"
        case .aftershocks: "Aftershocks"
        case .section: "Cross-section"
        case .depths: "Depths"
        }
    }
}
