extension Plot {
    /// Shades the periods that the catalogue does not hold, on a plot over time.
    ///
    /// - Parameter top: returns the y value up to which a stretch is shaded; nil for no shade.
    func shade(
        _ stretches: [Coverage.Stretch], in svg: inout SVG, to top: (Coverage.Stretch) -> Double?
    ) {
        for stretch in stretches {
            guard let top = top(stretch), top > y.range.lowerBound else { continue }
            svg.rectangle(
                from: point(stretch.from, y.range.lowerBound),
                to: point(stretch.until, min(top, y.range.upperBound)), class: "gap")
        }
    }

    /// Draws the legend of the shade if any stretch is a gap. Returns the legend's height.
    static func drawGapLegend(
        _ words: String, of stretches: [Coverage.Stretch], at origin: SVG.Point, in svg: inout SVG
    ) -> Double {
        guard stretches.contains(where: { $0.magnitude > -.infinity }) else { return 0 }
        svg.rectangle(
            from: .init(x: origin.x, y: origin.y - 8), to: .init(x: origin.x + 24, y: origin.y + 4),
            class: "gap")
        svg.text(words, at: .init(x: origin.x + 32, y: origin.y + 2))
        return 26
    }
}
