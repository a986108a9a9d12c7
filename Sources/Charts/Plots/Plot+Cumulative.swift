extension Plot {
    /// The cumulative number of events over time, as an SVG document. The line has a limited number of points per pixel, however
    /// many events there are. It is interrupted where the catalogue holds nothing.
    ///
    /// - Parameter magnitude: the smallest selected magnitude; nil for all.
    public static func cumulative(
        _ events: [ChartEvent], coverage: Coverage = Coverage(), from magnitude: Double? = nil,
        caption: Caption
    ) -> String {
        let events = events.sorted { $0.time < $1.time }
        let plot = Plot(
            x: .time(range(of: events)),
            y: .linear("Number of events", 0...Double(max(1, events.count))), caption: caption)
        let stretches = coverage.stretches(plot.x.range, from: magnitude)
        // The stretches with the smallest threshold are not gaps, because their counts are comparable.
        let least = stretches.map(\.magnitude).min() ?? -.infinity
        let gaps = stretches.filter { $0.magnitude > least || $0.magnitude == .infinity }
        return plot.svg { origin, svg in
            drawGapLegend(
                "not held by the catalogue, or only from a larger magnitude on", of: gaps, at: origin,
                in: &svg)
        } _: { svg in
            plot.shade(gaps, in: &svg) { _ in .infinity }
            var before = 0
            for line in plot.lines(of: events, stretches) {
                svg.polyline(plot.steps(line.events, from: line.from, to: line.until, before), class: "line")
                before += line.events.count
            }
        }
    }

    /// The parts of the line: one for each stretch that the catalogue holds, even if it holds only the larger events. A stretch
    /// that the catalogue does not hold also gets a part if it contains events, for example from an incomplete feed.
    private func lines(
        of events: [ChartEvent], _ stretches: [Coverage.Stretch]
    ) -> [(from: Double, until: Double, events: ArraySlice<ChartEvent>)] {
        let parts =
            stretches.isEmpty
            ? [(x.range.lowerBound, x.range.upperBound, false)]
            : stretches.map { ($0.from, $0.until, $0.magnitude == .infinity) }
        var rest = events[...]
        return parts.compactMap { from, until, isGap in
            let end = rest.firstIndex { Double($0.time.milliseconds) >= until } ?? rest.endIndex
            let part = until == x.range.upperBound ? rest : rest[rest.startIndex..<end]
            rest = rest[part.endIndex...]
            guard isGap else { return (from, until, part) }
            guard let first = part.first, let last = part.last else { return nil }
            return (Double(first.time.milliseconds), Double(last.time.milliseconds), part)
        }
    }

    /// - Parameter before: the number of events before `events`.
    private func steps(
        _ events: ArraySlice<ChartEvent>, from: Double, to end: Double, _ before: Int
    ) -> [SVG.Point] {
        var points = [point(from, Double(before))]
        for (index, event) in events.enumerated() {
            let point = point(Double(event.time.milliseconds), Double(before + index + 1))
            if let last = points.last, point.x - last.x >= 0.5 || points.count < 3 {
                points.append(.init(x: point.x, y: last.y))
                points.append(point)
            } else {
                points[points.count - 1].y = point.y
            }
        }
        points.append(point(end, Double(before + events.count)))
        return points
    }
}
