/// Draws events as circles. The radius shows the magnitude, and the colour shows the depth. To keep the picture small, only one
/// symbol of the same size and colour is drawn per pixel, and the smallest symbols are dots of a dozen bytes each. A picture of
/// 100,000 events has 1 to 3 MB. A beachball takes about a kilobyte.
struct Symbols {
    private let largestMagnitude: Double
    private let largestRadius: Double
    private let depths: DepthScale

    private static let smallestCircle = 1.8
    private static let smallestDot = 0.8
    /// The smallest radius of a beachball, in pixels. In a smaller beachball, the quadrants could not be distinguished.
    private static let smallestBeachball = 4.0

    init(_ events: [ChartEvent]) {
        depths = DepthScale(events)
        largestMagnitude = events.lazy.compactMap(\.magnitude).max() ?? 5
        // With many events, symbols are smaller, so that they do not hide each other.
        var crowding = 1.0
        var count = Double(events.count)
        while count > 2000 && crowding > 0.6 { (count, crowding) = (count / 2, crowding * 0.93) }
        largestRadius = min(16, max(4, 4 + 1.35 * largestMagnitude)) * crowding
    }

    /// The radius in pixels, rounded to a tenth.
    func radius(_ magnitude: Double?) -> Double {
        guard let magnitude else { return Self.smallestDot }
        // With each unit of magnitude, a circle becomes about 1.5 times as wide. Faults become about three times as long per
        // unit, but at that scale small events would be invisible.
        var radius = largestRadius
        var rest = largestMagnitude - magnitude
        while rest >= 1, radius > 0.1 { (radius, rest) = (radius / 1.52, rest - 1) }
        radius /= 1 + 0.52 * min(1, max(0, rest))
        return max(Self.smallestDot, (radius * 10).rounded() / 10)
    }

    func draw(_ events: [(event: ChartEvent, point: SVG.Point)], in svg: inout SVG) {
        var dots: [Style: String] = [:]
        var drawn: Set<Cell> = []
        var circles: [(radius: Double, color: Int, point: SVG.Point, mechanism: MomentTensor?)] = []
        for (event, point) in events {
            var radius = radius(event.magnitude)
            if event.mechanism != nil { radius = max(radius, Self.smallestBeachball) }
            let style = Style(
                size: Int(radius * 10), color: depths.index(event.depth), isBeachball: event.mechanism != nil)
            let cell = Cell(x: Int(point.x.rounded()), y: Int(point.y.rounded()), style: style)
            guard drawn.insert(cell).inserted else { continue }
            if radius < Self.smallestCircle {
                dots[style, default: ""] += "M\(SVG.pair(point))h0"
            } else {
                circles.append((radius, style.color, point, event.mechanism))
            }
        }
        for (index, (style, path)) in dots.sorted(by: { $0.key < $1.key }).enumerated() {
            let width = Double(style.size) / 5
            svg.definition("<path id=\"dots\(index)\" d=\"\(path)\"/>")
            for (name, stroke, width) in [
                ("dot", "#222", width + 0.8), ("dot p\(style.color)", "#fff", width),
            ] {
                svg.element(
                    "use",
                    [
                        "href": "#dots\(index)", "class": name, "stroke": stroke,
                        "stroke-width": SVG.number(width),
                    ])
            }
        }
        circles.sort { $0.radius > $1.radius }
        for circle in circles {
            if let mechanism = circle.mechanism {
                svg.beachball(mechanism, at: circle.point, radius: circle.radius, color: circle.color)
            } else {
                svg.circle(at: circle.point, radius: circle.radius, class: "d\(circle.color)")
            }
        }
    }

    private struct Cell: Hashable {
        let x: Int, y: Int, style: Style
    }

    private struct Style: Hashable, Comparable {
        let size: Int, color: Int, isBeachball: Bool

        static func < (left: Style, right: Style) -> Bool {
            (left.size, left.color) < (right.size, right.color)
        }
    }

    /// The magnitudes in the legend: whole numbers if the range contains at least three, else multiples of 0.5 if it contains at
    /// least three, else the smallest and the largest magnitude.
    private func sizes(of events: [ChartEvent]) -> [(magnitude: Double, label: String)] {
        let all = events.lazy.compactMap(\.magnitude)
        guard let smallest = all.min(), let largest = all.max() else { return [] }
        for (step, digits) in [(1.0, 0), (0.5, 1)] {
            let first = (smallest / step).rounded(.up)
            let last = (largest / step).rounded(.down)
            guard last - first >= 2 else { continue }
            return stride(from: max(first, last - 5), through: last, by: 1)
                .map { ($0 * step, Axis.decimal($0 * step, digits)) }
        }
        let ends = [smallest, largest].map { ($0, Axis.decimal($0, 1)) }
        return ends[0].1 == ends[1].1 ? [ends[1]] : ends
    }

    /// Draws the legend of sizes and colours as a row that begins at `origin`. Returns the height of the legend.
    func drawLegend(of events: [ChartEvent], at origin: SVG.Point, in svg: inout SVG) -> Double {
        var x = origin.x
        svg.text("Magnitude", at: .init(x: x, y: origin.y + 4), class: "h")
        x += 82
        for (magnitude, label) in sizes(of: events) {
            let radius = max(1, radius(magnitude))
            svg.circle(at: .init(x: x + radius, y: origin.y), radius: radius, class: "hollow")
            svg.text(label, at: .init(x: x + 2 * radius + 4, y: origin.y + 4))
            x += 2 * radius + 16 + 8 * Double(label.count)
        }
        x = max(x + 20, origin.x + 300)
        svg.text("Depth, km", at: .init(x: x, y: origin.y + 4), class: "h")
        x += 76
        for (index, label) in depths.labels.enumerated() {
            svg.circle(at: .init(x: x + 6, y: origin.y), radius: 6, class: "d\(index) key")
            svg.text(label, at: .init(x: x + 16, y: origin.y + 4))
            x += 28 + 6.8 * Double(label.count)
        }
        return 34
    }
}
