import ArgumentParser
import Charts

struct SectionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "For a section: the start of the line, in degrees, or a town.", valueName: "lat,lon|town"),
        transform: NearPoint.init)
    var from: NearPoint?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("For a section: the end of the line.", valueName: "lat,lon|town"),
        transform: NearPoint.init)
    var to: NearPoint?

    @Option(
        help: ArgumentHelp(
            "For a section: show the events in a strip of this width along the line. (default: 100)",
            valueName: "km"))
    var width: Double?

    var isGiven: Bool { from != nil || to != nil || width != nil }

    /// - Throws: `ValidationError`.
    func section() throws -> Section {
        guard let from, let to else {
            throw ValidationError("quakes plot section needs --from LAT,LON and --to LAT,LON")
        }
        let width = width ?? 100
        guard width > 0, width <= 2000 else {
            throw ValidationError("--width must be greater than 0 and at most 2000, but is \(width)")
        }
        guard
            let section = Section(
                from: (from.latitude, from.longitude), to: (to.latitude, to.longitude), width: width)
        else {
            throw ValidationError(
                "--from and --to are the same place, or on opposite sides of the earth: they do not define a line"
            )
        }
        return section
    }
}
