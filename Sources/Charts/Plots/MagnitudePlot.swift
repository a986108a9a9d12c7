import Glibc

/// How many earthquakes there are of each magnitude, with the Gutenberg–Richter relation.
public struct MagnitudePlot: Sendable {
    private let relation: GutenbergRichter
    private let caption: Caption

    public init(_ events: [ChartEvent], caption: Caption) {
        (relation, self.caption) = (GutenbergRichter(events), caption)
    }

    /// The picture as an SVG document.
    public func svg() -> String {
        let bins = relation.counts.keys.sorted()
        let range =
            bins.isEmpty ? 0...5 : Double(bins[0]) / 10 - 0.1...Double(bins[bins.count - 1]) / 10 + 0.1
        let total = relation.counts.values.reduce(0, +)
        let plot = Plot(
            x: .linear("Magnitude", range),
            y: .logarithmic("Number of earthquakes", 1...max(10, Double(total)), room: 0.7), caption: caption)
        return plot.svg(legend: drawLegend) { svg in
            if let completeness = relation.completeness {
                let x = Double(completeness) / 10
                svg.line(
                    from: plot.point(x, plot.y.range.lowerBound), to: plot.point(x, plot.y.range.upperBound),
                    class: "mark")
            }
            for (bin, count) in relation.counts.sorted(by: { $0.key < $1.key }) {
                let point = plot.point(Double(bin) / 10, Double(count))
                svg.element(
                    "path",
                    [
                        "class": "hollow",
                        "d": SVG.path(
                            [(0, -4), (4, 3), (-4, 3)].map { .init(x: point.x + $0.0, y: point.y + $0.1) },
                            isClosed: true),
                    ])
            }
            for (bin, count) in relation.cumulative {
                svg.circle(at: plot.point(Double(bin) / 10, Double(count)), radius: 3.2, class: "full")
            }
            drawFit(plot, in: &svg)
        }
    }

    /// From the completeness to where the relation expects a tenth of an earthquake.
    private func drawFit(_ plot: Plot, in svg: inout SVG) {
        guard let a = relation.a, let b = relation.b, let completeness = relation.completeness else { return }
        let start = Double(completeness) / 10
        let end = min(plot.x.range.upperBound, (a + 1) / b)
        func point(_ magnitude: Double) -> SVG.Point { plot.point(magnitude, pow(10, a - b * magnitude)) }
        svg.line(from: point(start), to: point(end), class: "fit")
    }

    private func drawLegend(at origin: SVG.Point, in svg: inout SVG) -> Double {
        let (x, y) = (origin.x, origin.y)
        svg.circle(at: .init(x: x + 4, y: y - 4), radius: 3.2, class: "full")
        svg.text("this magnitude or larger", at: .init(x: x + 14, y: y))
        svg.element(
            "path",
            [
                "class": "hollow",
                "d": SVG.path(
                    [.init(x: x + 180, y: y - 8), .init(x: x + 184, y: y - 1), .init(x: x + 176, y: y - 1)],
                    isClosed: true),
            ])
        svg.text("this magnitude, in bins of 0.1", at: .init(x: x + 190, y: y))
        if let completeness = relation.completeness {
            svg.line(from: .init(x: x + 380, y: y - 4), to: .init(x: x + 404, y: y - 4), class: "mark")
            svg.text(
                "completeness Mc = \(Axis.decimal(Double(completeness) / 10, 1))", at: .init(x: x + 410, y: y)
            )
        }
        if let a = relation.a, let b = relation.b, let error = relation.standardError {
            svg.line(from: .init(x: x + 575, y: y - 4), to: .init(x: x + 599, y: y - 4), class: "fit")
            svg.text(
                "b = \(Axis.decimal(b, 2)) ± \(Axis.decimal(error, 2)), a = \(Axis.decimal(a, 2))",
                at: .init(x: x + 605, y: y))
        }
        return 28
    }
}
