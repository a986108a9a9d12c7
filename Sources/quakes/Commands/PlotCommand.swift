import ArgumentParser
import Charts
import Feed
import QuakeStore
import Synchronization

struct PlotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot",
        abstract: "Draw a diagram of earthquakes, as SVG or PNG.",
        discussion: """
            time shows magnitudes over time, magnitudes how many earthquakes there are of each magnitude with the \
            Gutenberg–Richter relation, cumulative the number of events over time, and aftershocks how the rate of aftershocks \
            of --mainshock falls with time, with Omori's law. The fits follow the rules of the reports gutenberg_richter and \
            aftershock_rate.

                quakes plot magnitudes --since 2019-07 --until 2019-07 --output july.svg
                quakes plot aftershocks --mainshock ci38457511 --output aftershocks.png
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case time, magnitudes, cumulative, aftershocks
    }

    @Argument(help: "What to draw.")
    var kind: Kind

    @OptionGroup var selection: SelectionOptions

    @Option(help: ArgumentHelp("The earthquake whose aftershocks to draw.", valueName: "code"))
    var mainshock: String?

    @Option(
        help: ArgumentHelp(
            "How far from the mainshock its aftershocks are, in km. (default: by Gardner and Knopoff 1974)",
            valueName: "km"))
    var radius: Double?

    @Option(
        help: ArgumentHelp(
            "For how many days after the mainshock. (default: by Gardner and Knopoff 1974)", valueName: "n"))
    var days: Double?

    @OptionGroup var picture: PictureOptions
    @OptionGroup var database: DatabaseOptions

    func validate() throws {
        try selection.validate(with: database)
        guard kind == .aftershocks else {
            if mainshock != nil || radius != nil || days != nil {
                throw ValidationError("--mainshock, --radius and --days are for quakes plot aftershocks")
            }
            return
        }
        guard mainshock != nil else {
            throw ValidationError("quakes plot aftershocks needs --mainshock CODE")
        }
        guard selection.since == nil, selection.until == nil, selection.near == nil, selection.box == nil
        else {
            throw ValidationError(
                "aftershocks are chosen by --mainshock, --radius and --days, not by --since, --until, --near or --box"
            )
        }
        // Half way round the earth, and a century.
        for (name, value, most) in [("--radius", radius, 20_016.0), ("--days", days, 36_525)] {
            if let value, !(value > 0 && value <= most) {
                throw ValidationError(
                    "\(name) must be greater than 0 and at most \(Int(most)), but is \(value)")
            }
        }
    }

    func run() async throws {
        if let mainshock { return try await drawAftershocks(of: mainshock) }
        let drawn = try await portrait(of: selection.selection)
        let caption = drawn.caption(picture.title ?? title, selection.words)
        switch kind {
        case .time: try await picture.write(Plot.time(drawn.events, caption: caption))
        case .magnitudes: try await picture.write(Plot.magnitudes(drawn.events, caption: caption))
        case .cumulative: try await picture.write(Plot.cumulative(drawn.events, caption: caption))
        case .aftershocks: break
        }
    }

    private var title: String {
        switch kind {
        case .time: "Magnitudes over time"
        case .magnitudes: "Magnitude–frequency distribution"
        case .cumulative: "Cumulative number of events"
        case .aftershocks: "Aftershocks"
        }
    }

    private func portrait(of selection: QuakeSelection) async throws -> Portrait {
        let portrait = Mutex(Portrait())
        let whyEmpty = try await self.selection.forEach(selection, database) { quake in
            portrait.withLock { $0.append(quake) }
        }
        if let whyEmpty { StandardError.print("quakes: \(whyEmpty)") }
        return portrait.withLock { $0 }
    }

    private func drawAftershocks(of code: String) async throws {
        guard let mainshock = try await first({ $0.code = code }) else { throw UnknownMainshock(code: code) }
        guard
            let window = AftershockWindow(magnitude: mainshock.magnitude, kilometres: radius, days: days)
        else { throw ValidationError("\(code) has no magnitude: give --radius and --days") }
        let length = Int64(window.days * 86_400_000)
        var aftershocks = selection.selection
        aftershocks.since = Instant(milliseconds: mainshock.time.milliseconds + 1)
        aftershocks.until = Instant(milliseconds: mainshock.time.milliseconds + length + 1)
        aftershocks.near = .init(
            latitude: mainshock.latitude, longitude: mainshock.longitude, kilometres: window.kilometres)
        if aftershocks.types == nil { aftershocks.types = ["earthquake"] }
        // As in the report, an event without a magnitude is none.
        if aftershocks.minimumMagnitude == nil { aftershocks.minimumMagnitude = -12 }
        let drawn = try await portrait(of: aftershocks)
        func daysLater(_ time: Instant) -> Double {
            Double(time.milliseconds - mainshock.time.milliseconds) / 86_400_000
        }
        // How long the catalogue goes on after the mainshock.
        let newest = try await first { _ in }.map { daysLater($0.time) } ?? 0
        let rate = AftershockRate(
            drawn.events.map { daysLater($0.time) }, observed: min(window.days, newest))
        let name = mainshock[.title].text ?? mainshock[.place].text ?? code
        let words = [
            "within \(Int(window.kilometres.rounded())) km and \(Int(window.days.rounded())) days of \(code)"
        ]
        let caption = drawn.caption(picture.title ?? "Aftershocks of \(name)", words + selection.words)
        try await picture.write(Plot.aftershocks(rate, caption: caption))
    }

    /// The newest event of the whole catalogue, or of what `narrow` makes of it.
    private func first(_ narrow: (inout QuakeSelection) -> Void) async throws -> Quake? {
        var all = QuakeSelection()
        all.asOf = selection.asOf
        all.limit = 1
        narrow(&all)
        let found = Mutex<Quake?>(nil)
        _ = try await selection.forEach(all, database) { quake in found.withLock { $0 = quake } }
        return found.withLock { $0 }
    }
}

/// There is no earthquake with the code that `--mainshock` names.
struct UnknownMainshock: Error, CustomStringConvertible {
    let code: String

    var description: String { "there is no earthquake \(strippingControlCharacters(code))" }
}
