import Feed

extension Plot {
    /// Magnitudes over time, as an SVG document.
    ///
    /// - Parameters:
    ///   - events: the events to show. Events without a magnitude are left out, and the caption says so.
    ///   - coverage: the periods that the catalogue holds. Other periods are shaded. If the catalogue holds only the larger
    ///     events of a period, the period is shaded up to the smallest held magnitude.
    ///   - magnitude: the smallest selected magnitude; nil for all.
    public static func time(
        _ events: [ChartEvent], coverage: Coverage = Coverage(), from magnitude: Double? = nil,
        caption: Caption
    ) -> String {
        let times = range(of: events)
        let unknown = events.count { $0.magnitude == nil }
        let events = events.filter { $0.magnitude != nil }
        let magnitudes = events.compactMap(\.magnitude)
        let (least, most) = (magnitudes.min() ?? 0, magnitudes.max() ?? 5)
        // Leaves room for half a symbol.
        let margin = most - least < 1e-6 ? 0 : max(0.1, (most - least) / 30)
        var plot = Plot(
            x: .time(times), y: .linear("Magnitude", least - margin...most + margin), caption: caption)
        plot.noteLeftOut(unknown, "without a magnitude")
        let symbols = Symbols(events)
        let stretches = coverage.stretches(plot.x.range, from: magnitude)
        return plot.svg { origin, svg in
            let height = symbols.drawLegend(of: events, at: origin, in: &svg)
            let below = SVG.Point(x: origin.x, y: origin.y + height)
            return height
                + drawGapLegend("not held by the catalogue", of: stretches, at: below, in: &svg)
        } _: { svg in
            plot.shade(stretches, in: &svg) { $0.magnitude }
            let points = events.map {
                ($0, plot.point(Double($0.time.milliseconds), $0.magnitude ?? 0))
            }
            symbols.draw(points, in: &svg)
        }
    }

    /// The range from the first event to the last, with a margin; the year 2000 if there are no events.
    static func range(of events: [ChartEvent]) -> ClosedRange<Double> {
        let times = events.map { Double($0.time.milliseconds) }
        guard let first = times.min(), let last = times.max() else {
            return 946_684_800_000...978_307_200_000
        }
        let margin = max(60_000, (last - first) * 0.02)
        return first - margin...last + margin
    }
}
