import Glibc

extension Plot {
    /// The rate of aftershocks over time on logarithmic axes, with Omori's law, as an SVG document.
    public static func aftershocks(_ rate: AftershockRate, caption: Caption) -> String {
        let bins = rate.bins.filter { $0.count > 0 }
        let lower = bins.map(\.middle).min() ?? 0.01
        let upper = bins.map(\.to).max() ?? 10
        let rates = bins.map(\.perDay)
        let plot = Plot(
            x: .logarithmic("Days after the mainshock", lower...max(upper, lower * 10)),
            y: .logarithmic("Aftershocks per day", (rates.min() ?? 1) * 0.7...(rates.max() ?? 10) * 1.4),
            caption: caption)
        return plot.svg(legend: rate.drawLegend) { svg in
            if let omori = rate.omori {
                let ends = [omori.from, omori.to].map { plot.point($0, omori.k * pow($0, -omori.p)) }
                svg.line(from: ends[0], to: ends[1], class: "fit")
            }
            for bin in bins {
                let error = Double(bin.count).squareRoot() / Double(bin.count)
                let low = max(bin.perDay * (1 - error), plot.y.range.lowerBound)
                svg.line(
                    from: plot.point(bin.middle, low), to: plot.point(bin.middle, bin.perDay * (1 + error)),
                    class: "axis")
                svg.circle(at: plot.point(bin.middle, bin.perDay), radius: 3.6, class: "full")
            }
        }
    }
}

extension AftershockRate.Bin {
    /// The geometric mean of both ends; half the end of the first bin, which begins at 0.
    fileprivate var middle: Double { from == 0 ? to / 2 : (from * to).squareRoot() }
}

extension AftershockRate {
    fileprivate func drawLegend(at origin: SVG.Point, in svg: inout SVG) -> Double {
        let (x, y) = (origin.x, origin.y)
        svg.circle(at: .init(x: x + 4, y: y - 4), radius: 3.6, class: "full")
        svg.text("rate in a fifth of a decade, ± √n", at: .init(x: x + 14, y: y))
        if let omori {
            svg.line(from: .init(x: x + 240, y: y - 4), to: .init(x: x + 264, y: y - 4), class: "fit")
            svg.text(
                "Omori’s law: p = \(Axis.decimal(omori.p, 2)) ± \(Axis.decimal(omori.standardError, 2)), \(Axis.decimal(omori.k, 1)) per day after one day",
                at: .init(x: x + 270, y: y))
        }
        return 28
    }
}
