import Glibc

extension Plot {
    /// The number of earthquakes of each magnitude, with the Gutenberg–Richter relation, as an SVG document. If the line fits
    /// poorly, it is drawn in another style. If a fit from a larger magnitude is good, its line is drawn, too.
    public static func magnitudes(_ relation: GutenbergRichter, caption: Caption) -> String {
        let bins = relation.counts.keys.sorted()
        let range =
            bins.isEmpty ? 0...5 : Double(bins[0]) / 10 - 0.1...Double(bins[bins.count - 1]) / 10 + 0.1
        let total = relation.counts.values.reduce(0, +)
        var plot = Plot(
            x: .linear("Magnitude", range),
            y: .logarithmic("Number of earthquakes", 1...max(10, Double(total)), room: 0.7), caption: caption)
        plot.noteLeftOut(relation.leftOut, "without a magnitude or of another type")
        return plot.svg(legend: relation.drawLegend) { svg in
            if let completeness = relation.completeness {
                let x = Double(completeness) / 10
                svg.line(
                    from: plot.point(x, plot.y.range.lowerBound), to: plot.point(x, plot.y.range.upperBound),
                    class: "mark")
            }
            for (bin, count) in relation.counts.sorted(by: { $0.key < $1.key }) {
                svg.triangle(at: plot.point(Double(bin) / 10, Double(count)))
            }
            for (bin, count) in relation.cumulative {
                svg.circle(at: plot.point(Double(bin) / 10, Double(count)), radius: 3.2, class: "full")
            }
            if let fit = relation.fit { fit.draw(plot, class: fit.isGood ? "fit" : "poor", in: &svg) }
            if let good = relation.other { good.draw(plot, class: "fit", in: &svg) }
        }
    }
}

extension GutenbergRichter.Fit {
    /// Draws the line from the smallest magnitude of the fit to the magnitude at which the relation expects a tenth of an
    /// earthquake.
    fileprivate func draw(_ plot: Plot, class name: String, in svg: inout SVG) {
        let start = Double(from) / 10
        let end = min(plot.x.range.upperBound, (a + 1) / b)
        func point(_ magnitude: Double) -> SVG.Point { plot.point(magnitude, pow(10, a - b * magnitude)) }
        svg.line(from: point(start), to: point(end), class: name)
    }

    public var words: String {
        let error = Axis.decimal(standardError, standardError < 0.005 ? 3 : 2)
        return
            "b = \(Axis.decimal(b, 2)) ± \(error), a = \(Axis.decimal(a, 2)), from M \(Axis.decimal(Double(from) / 10, 1)): \(isGood ? "good" : "poor") fit (\(Axis.decimal(goodness, 0)) %, \(Axis.decimal(deviation, 1)) σ)"
    }
}

extension GutenbergRichter {
    public var other: Fit? { good?.from == completeness ? nil : good }

    fileprivate func drawLegend(at origin: SVG.Point, in svg: inout SVG) -> Double {
        var (x, y) = (origin.x, origin.y)
        svg.circle(at: .init(x: x + 4, y: y - 4), radius: 3.2, class: "full")
        svg.text("this magnitude or larger", at: .init(x: x + 14, y: y))
        svg.triangle(at: .init(x: x + 180, y: y - 4))
        svg.text("this magnitude, in bins of 0.1", at: .init(x: x + 190, y: y))
        if let completeness {
            let method = isCompletenessGiven ? "given" : "maximum curvature, tends to be 0.2 too low"
            svg.line(from: .init(x: x + 380, y: y - 4), to: .init(x: x + 404, y: y - 4), class: "mark")
            svg.text(
                "completeness Mc = \(Axis.decimal(Double(completeness) / 10, 1)) (\(method))",
                at: .init(x: x + 410, y: y))
        }
        y += 22
        for fit in [fit, other].compactMap(\.self) {
            let name = fit.isGood ? "fit" : "poor"
            svg.line(from: .init(x: x, y: y - 4), to: .init(x: x + 24, y: y - 4), class: name)
            svg.text(fit.words, at: .init(x: x + 30, y: y))
            x += 400
        }
        guard fit != nil else { return 28 }
        let meaning =
            "good: the line explains at least 90 % of the numbers, no point is more than 3 σ off, and the test of Kolmogorov and Smirnov passes"
        svg.text(meaning, at: .init(x: origin.x, y: y + 18))
        return 68
    }
}

extension SVG {
    fileprivate mutating func triangle(at point: Point) {
        let corners: [Point] = [(0.0, -4.0), (4.0, 3.0), (-4.0, 3.0)].map {
            .init(x: point.x + $0.0, y: point.y + $0.1)
        }
        element("path", ["class": "hollow", "d": Self.path(corners, isClosed: true)])
    }
}
