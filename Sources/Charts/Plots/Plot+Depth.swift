extension Plot {
    /// A section through the hypocentres below a line on the surface, as an SVG document: the distance along the line, and the
    /// depth. Events without a depth or outside the strip are left out.
    public static func section(_ events: [ChartEvent], along section: Section, caption: Caption) -> String {
        let placed = events.compactMap { event in
            event.depth.flatMap { depth in section.distance(of: event).map { (event, $0, depth) } }
        }
        let deepest = max(placed.reduce(0) { max($0, $1.2) }, 5)
        var plot = Plot(
            x: .linear("Distance from A, km", 0...section.length, isTight: true),
            // Leaves room for the symbols of the deepest events, and of events at the surface.
            y: .linear(
                "Depth, km", 0...deepest * 1.03,
                reaching: placed.reduce(-deepest / 30) { min($0, $1.2 - deepest / 30) }, isDownward: true),
            caption: caption)
        plot.noteLeftOut(
            events.count { $0.depth == nil && section.distance(of: $0) != nil }, "without a depth")
        let stretch = plot.scale.y / plot.scale.x
        plot.caption.lines.insert(
            "Section from A, \(Self.words(section.start)), to B, \(Self.words(section.end)): \(Axis.decimal(section.length, 0)) km long, \(Axis.decimal(section.width, 0)) km wide; \(placed.count == 1 ? "1 event" : "\(placed.count) events") in it. Depth is drawn \(Axis.decimal(stretch, 1)) times as large as distance.",
            at: 0)
        let symbols = Symbols(placed.map(\.0))
        return plot.svg { origin, svg in
            symbols.drawLegend(of: placed.map(\.0), at: origin, in: &svg)
        } _: { svg in
            symbols.draw(placed.map { ($0.0, plot.point($0.1, $0.2)) }, in: &svg)
            for (name, x, anchor) in [("A", 0.0, SVG.Anchor.start), ("B", section.length, .end)] {
                let corner = plot.point(x, plot.y.range.lowerBound)
                svg.text(
                    name, at: .init(x: corner.x + (anchor == .start ? 8 : -8), y: corner.y + 20), size: 16,
                    anchor: anchor, class: "h")
            }
        }
    }

    private static func words(_ point: (latitude: Double, longitude: Double)) -> String {
        "\(Axis.decimal(point.latitude, 2)), \(Axis.decimal(point.longitude, 2))"
    }

    /// The number of events in each bin of depth, as an SVG document. There are about 36 bins at most.
    public static func depths(_ events: [ChartEvent], caption: Caption) -> String {
        let depths = events.compactMap(\.depth)
        let (least, most) = (min(0, depths.min() ?? 0), max(depths.max() ?? 10, 5))
        let step = [0.5, 1, 2, 5, 10, 20, 25, 50].first { (most - least) / $0 <= 36 } ?? 100
        // The end of the bin that contains the depth.
        func end(_ depth: Double) -> Double { ((depth / step).rounded(.down) + 1) * step }
        let y = Axis.linear(
            "Depth, km", 0...end(most), reaching: end(least) - step, isDownward: true)
        var counts: [Int: Int] = [:]
        for depth in depths { counts[Int((depth / step).rounded(.down)), default: 0] += 1 }
        let x = Axis.linear(
            "Number of events in \(Axis.decimal(step, step < 1 ? 1 : 0)) km of depth",
            0...Double(max(1, counts.values.max() ?? 1)))
        var plot = Plot(x: x, y: y, caption: caption)
        plot.noteLeftOut(events.count - depths.count, "without a depth")
        let scale = DepthScale(events.filter { $0.depth != nil })
        return plot.svg { svg in
            for (bin, count) in counts.sorted(by: { $0.key < $1.key }) {
                let top = Double(bin) * step
                svg.rectangle(
                    from: plot.point(0, top), to: plot.point(Double(count), top + step),
                    class: "d\(scale.index(top + step / 2)) bar")
            }
        }
    }
}
