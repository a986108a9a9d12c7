import ArgumentParser
import Charts
import Feed
import QuakeStore
import Synchronization

extension PlotCommand {
    func validateAftershocks() throws {
        guard mainshock != nil else {
            throw ValidationError("quakes plot aftershocks needs --mainshock CODE")
        }
        guard selection.since == nil, selection.until == nil, selection.near == nil, selection.box == nil
        else {
            throw ValidationError(
                "aftershocks are chosen by --mainshock, --radius and --days, not by --since, --until, --near or --box"
            )
        }
        // The limits are half way round the earth, and a century.
        for (name, value, most) in [("--radius", radius, 20_016.0), ("--days", days, 36_525)] {
            if let value, !(value > 0 && value <= most) {
                throw ValidationError(
                    "\(name) must be greater than 0 and at most \(Int(most)), but is \(value)")
            }
        }
    }

    func drawAftershocks(of code: String, in source: QuakeSource) async throws {
        guard let mainshock = try await first(in: source, { $0.values[.code] = [code] })?.quake else {
            throw Failure(.noInput, "there is no earthquake \(strippingControlCharacters(code))")
        }
        let excluded = try await solutions(of: code, in: source)
        guard
            let window = AftershockWindow(magnitude: mainshock.magnitude, kilometres: radius, days: days)
        else { throw ValidationError("\(code) has no magnitude: give --radius and --days") }
        var aftershocks = selection.selection
        aftershocks.since = Instant(milliseconds: mainshock.time.milliseconds + 1)
        aftershocks.until = Instant(
            milliseconds: mainshock.time.milliseconds + Int64(window.days * 86_400_000) + 1)
        aftershocks.near = .init(
            latitude: mainshock.latitude, longitude: mainshock.longitude, kilometres: window.kilometres)
        if aftershocks.types == nil { aftershocks.types = ["earthquake"] }
        // As in the report, an event without a magnitude does not count as an aftershock.
        if aftershocks.ranges[.magnitude] == nil { aftershocks.ranges[.magnitude] = -.infinity...(.infinity) }
        let drawn = try await selection.portrait(of: aftershocks, in: source) {
            !excluded.contains($0.code)
        }
        func daysLater(_ time: Instant) -> Double {
            Double(time.milliseconds - mainshock.time.milliseconds) / 86_400_000
        }
        // The aftershocks are known up to this time: the beginning of the catalogue's first gap after the mainshock, or else its
        // newest event, in both cases of the selected agencies.
        let end = try await heldUntil(mainshock, [code] + excluded, in: source)
        let networks = selection.selection.values[.net]
        let known =
            if let end { end } else {
                try await first(in: source) { $0.values[.net] = networks }?.quake.time ?? mainshock.time
            }
        let rate = AftershockRate(
            drawn.events.map { daysLater($0.time) }, observed: min(window.days, daysLater(known)))
        let name = mainshock[.title].text ?? mainshock[.place].text ?? code
        let kilometres = Self.words(radius, else: window.kilometres)
        let length = Self.words(days, else: window.days)
        let words = ["within \(kilometres) km and \(length) \(length == "1" ? "day" : "days") of \(code)"]
        let gap = end.flatMap { end in
            daysLater(end) < window.days
                ? "The catalogue has no gap in the first \(rounded(daysLater(end), 1)) days; later aftershocks are left out."
                : nil
        }
        let caption = drawn.caption(
            picture.title ?? "Aftershocks of \(name)", words + selection.words, gaps: gap)
        try await picture.write(Plot.aftershocks(rate, caption: caption))
    }

    /// The given number or, without one, the default rounded to an integer.
    private static func words(_ given: Double?, else other: Double) -> String {
        guard let given, given != given.rounded() else { return "\(Int((given ?? other).rounded()))" }
        return "\(given)"
    }

    /// The time of the first gap after the mainshock at the mainshock's place; nil if unknown. Without a selected agency, the
    /// catalogue is that of the services that have published the mainshock: a regional service says nothing about another region.
    ///
    /// - Parameter solutions: the codes of the mainshock's events.
    private func heldUntil(
        _ mainshock: Quake, _ solutions: [String], in source: QuakeSource
    ) async throws -> Instant? {
        let place = Region(
            south: mainshock.latitude, west: mainshock.longitude, north: mainshock.latitude, width: 0)
        var events = QuakeSelection()
        events.asOf = selection.asOf
        events.values[.code] = solutions
        let services = try await selection.portrait(of: events, in: source).services
        return selection.coverage(try await selection.held(in: source), of: place, by: services)
            .heldUntil(mainshock.time, from: selection.minMagnitude)
    }

    /// The codes of the events that describe the same earthquake, which are not its aftershocks. A view's file does not have them.
    private func solutions(of code: String, in source: QuakeSource) async throws -> [String] {
        guard case .database = source else { return [] }
        let listed = try await first(in: source) { ($0.values[.code], $0.isMerged) = ([code], true) }
        return listed?.group?.members ?? []
    }

    /// The newest event of the whole catalogue, or of the part to which `narrow` limits it.
    private func first(
        in source: QuakeSource, _ narrow: (inout QuakeSelection) -> Void
    ) async throws -> ListedQuake? {
        var all = QuakeSelection()
        all.asOf = selection.asOf
        all.isMerged = selection.merge
        all.limit = 1
        narrow(&all)
        let found = Mutex<ListedQuake?>(nil)
        _ = try await selection.forEach(all, in: source) { listed in found.withLock { $0 = listed } }
        return found.withLock { $0 }
    }
}
