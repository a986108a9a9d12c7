import ArgumentParser
import Charts

struct MapCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "map",
        abstract: "Draw a map of earthquakes, as SVG or PNG.",
        discussion: """
            The size of a symbol shows the magnitude, and its colour shows the depth. Without --near, --box or --fit, the map \
            shows the whole world:

                quakes map --since 30d > map.svg
                quakes map --near 35.8,-117.6 --within 100 --output ridgecrest.png
                quakes map --place Tonga --fit --output tonga.svg

            With --mechanisms, an event with a known focal mechanism is drawn as a beachball: the lower half of the focal \
            sphere, coloured by depth where the first motion was away from the source. The beachball is drawn from the moment \
            tensor or, if no tensor is known, from a nodal plane. Only events from QuakeML have mechanisms.
            """)

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "Show only the part of the world that contains the selected earthquakes.")
    var fit = false

    @Flag(help: "Draw a beachball where the focal mechanism is known.")
    var mechanisms = false

    @OptionGroup var picture: PictureOptions
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        try selection.validate(with: database)
    }

    func run() async throws {
        let source = try await selection.located(database)
        let drawn = try await selection.portrait(
            of: selection.selection, in: source, hasMechanisms: mechanisms)
        let gaps = selection.gaps(try await selection.held(in: source), drawn)
        let caption = drawn.caption(
            picture.title ?? selection.title(nil, drawn), selection.words, gaps: gaps, hasLand: true)
        try await picture.write(
            QuakeMap.svg(drawn.events, region: region(of: drawn.events), caption: caption))
    }

    private func region(of events: [ChartEvent]) -> Region {
        if fit, let fitted = Region(fitting: events) { return fitted.padded }
        return selection.region?.padded ?? .world
    }
}
