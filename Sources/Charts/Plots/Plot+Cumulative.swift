extension Plot {
    /// How many events there have been, over time, as an SVG document. However many events there are, the line has at most
    /// two points a pixel.
    public static func cumulative(_ events: [ChartEvent], caption: Caption) -> String {
        let events = events.sorted { $0.time < $1.time }
        let plot = Plot(
            x: .time(range(of: events)),
            y: .linear("Number of events", 0...Double(max(1, events.count))), caption: caption)
        return plot.svg { svg in
            var points = [plot.point(plot.x.range.lowerBound, 0)]
            for (index, event) in events.enumerated() {
                let point = plot.point(Double(event.time.milliseconds), Double(index + 1))
                // A step, from the count before to the count after; within one pixel it only grows.
                if let last = points.last, point.x - last.x >= 0.5 || points.count < 3 {
                    points.append(.init(x: point.x, y: last.y))
                    points.append(point)
                } else {
                    points[points.count - 1].y = point.y
                }
            }
            points.append(plot.point(plot.x.range.upperBound, Double(events.count)))
            svg.polyline(points, class: "line")
        }
    }
}
