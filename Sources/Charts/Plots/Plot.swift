/// A diagram with title, labelled axes, grid, legend and caption.
public struct Plot {
    let x: Axis
    let y: Axis
    var caption: Caption

    private static let width = 920.0
    private static let height = 470.0
    private static let left = 78.0
    private static let top = 56.0
    private static let right = 24.0

    private var innerWidth: Double { Self.width - Self.left - Self.right }

    func point(_ x: Double, _ y: Double) -> SVG.Point {
        .init(
            x: Self.left + self.x.share(x) * innerWidth, y: Self.top + (1 - self.y.share(y)) * Self.height)
    }

    /// The pixels per unit of each axis, for linear axes.
    var scale: (x: Double, y: Double) {
        (
            innerWidth / (x.range.upperBound - x.range.lowerBound),
            Self.height / (y.range.upperBound - y.range.lowerBound)
        )
    }

    /// Says in the caption that events are left out, if there are any.
    mutating func noteLeftOut(_ count: Int, _ which: String) {
        if count == 0 { return }
        let events = count == 1 ? "1 event \(which) is" : "\(count) events \(which) are"
        caption.lines.insert("\(events) left out.", at: 0)
    }

    /// - Parameter legend: draws the legend at a point below the axes, and returns its height.
    func svg(
        legend: (SVG.Point, inout SVG) -> Double = { _, _ in 0 }, _ content: (inout SVG) -> Void
    ) -> String {
        var svg = SVG(caption, width: Self.width)
        let corners = [(x.range.lowerBound, y.range.lowerBound), (x.range.upperBound, y.range.upperBound)]
            .map { point($0.0, $0.1) }
        let frame = SVG.path(
            [
                .init(x: corners[0].x, y: corners[1].y), corners[1], .init(x: corners[1].x, y: corners[0].y),
                corners[0],
            ], isClosed: true)
        drawAxes(in: &svg)
        svg.frame(frame, content)
        var below = SVG.Point(x: Self.left, y: Self.top + Self.height + 68)
        below.y += legend(below, &svg)
        return svg.document(linesFrom: below)
    }

    private func drawAxes(in svg: inout SVG) {
        let (bottom, left) = (Self.top + Self.height, Self.left)
        for tick in x.ticks {
            let at = point(tick.value, y.range.lowerBound).x
            svg.line(from: .init(x: at, y: Self.top), to: .init(x: at, y: bottom), class: "grid")
            svg.line(from: .init(x: at, y: bottom), to: .init(x: at, y: bottom + 6), class: "axis")
            svg.text(tick.label, at: .init(x: at, y: bottom + 21), anchor: .middle)
        }
        for value in x.minorTicks {
            let at = point(value, y.range.lowerBound).x
            svg.line(from: .init(x: at, y: bottom), to: .init(x: at, y: bottom + 3), class: "axis")
        }
        for tick in y.ticks {
            let at = point(x.range.lowerBound, tick.value).y
            svg.line(from: .init(x: left, y: at), to: .init(x: left + innerWidth, y: at), class: "grid")
            svg.line(from: .init(x: left - 6, y: at), to: .init(x: left, y: at), class: "axis")
            svg.text(tick.label, at: .init(x: left - 10, y: at + 4), anchor: .end)
        }
        for value in y.minorTicks {
            let at = point(x.range.lowerBound, value).y
            svg.line(from: .init(x: left - 3, y: at), to: .init(x: left, y: at), class: "axis")
        }
        svg.text(x.title, at: .init(x: left + innerWidth / 2, y: bottom + 44), size: 13, anchor: .middle)
        svg.text(
            y.title, at: .init(x: 20, y: Self.top + Self.height / 2), size: 13, anchor: .middle, rotated: -90)
    }
}
