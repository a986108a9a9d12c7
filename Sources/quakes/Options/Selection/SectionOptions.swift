import ArgumentParser
import Charts

struct SectionOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "For a section: where it begins, in degrees, or at which town.", valueName: "lat,lon|town"),
        transform: NearPoint.init)
    var from: NearPoint?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("For a section: where it ends.", valueName: "lat,lon|town"),
        transform: NearPoint.init)
    var to: NearPoint?

    @Option(
        help: ArgumentHelp(
            "For a section: the width of the strip whose events it shows, half on either side. (default: 100)",
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
                "--from and --to are the same place, or on opposite sides of the earth: no line leads from one to the other"
            )
        }
        return section
    }
}
