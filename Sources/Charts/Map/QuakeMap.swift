/// A map of earthquakes: the size tells the magnitude, the colour the depth.
public struct QuakeMap: Sendable {
    private let events: [ChartEvent]
    private let region: Region
    private let caption: Caption

    /// - Parameter region: as it is to be shown, margins included.
    public init(_ events: [ChartEvent], region: Region, caption: Caption) {
        (self.events, self.region, self.caption) = (events.filter(\.isOnGlobe), region, caption)
    }

    /// The picture as an SVG document.
    public func svg() -> String {
        let (left, top) = (54.0, 56.0)
        let width = 1040.0
        var projection = Projection(
            region, origin: .init(x: left, y: top), maximumWidth: width - left - 24, maximumHeight: 760)
        let origin = SVG.Point(x: left + (width - left - 24 - projection.width) / 2, y: top)
        projection = Projection(
            region, origin: origin, maximumWidth: width - left - 24, maximumHeight: 760)

        var svg = SVG()
        svg.text(caption.title, at: .init(x: width / 2, y: 32), size: 19, anchor: .middle, class: "h")
        drawGround(projection, in: &svg)
        let shown = events.filter(projection.contains)
        let symbols = Symbols(shown)
        svg.group(["clip-path": "url(#frame)"]) { svg in
            let points = shown.map {
                ($0, projection.point(latitude: $0.latitude, longitude: $0.longitude))
            }
            symbols.draw(points, in: &svg)
        }
        svg.element("path", ["class": "axis", "d": outline(projection)])
        let graticule = Graticule(projection)
        graticule.drawLabels(in: &svg)

        var y = top + projection.height + 48
        symbols.drawLegend(of: shown, at: .init(x: left, y: y), in: &svg)
        y += 34
        for line in caption.lines {
            svg.text(line, at: .init(x: left, y: y), size: 11, class: "s")
            y += 16
        }
        return svg.document(width: width, height: y + 6, title: caption.title, style: Palette.style)
    }

    private func drawGround(_ projection: Projection, in svg: inout SVG) {
        let outline = outline(projection)
        svg.definition("<clipPath id=\"frame\"><path d=\"\(outline)\"/></clipPath>")
        svg.element("path", ["class": "sea", "d": outline])
        svg.group(["clip-path": "url(#frame)"]) { svg in
            let paths = LandPaths(projection)
            svg.element("path", ["class": "land", "fill-rule": "evenodd", "d": paths.land])
            Graticule(projection).drawLines(in: &svg)
            svg.element("path", ["class": "coast", "d": paths.coast])
        }
    }

    /// The edge of the map, which is that of the globe for the whole world.
    private func outline(_ projection: Projection) -> String {
        let region = projection.region
        let latitudes =
            projection.isWorld
            ? Array(stride(from: -90.0, through: 90, by: 2)) : [region.south, region.north]
        let west = latitudes.map { projection.point(latitude: $0, offset: -region.width / 2) }
        let east = latitudes.reversed().map { projection.point(latitude: $0, offset: region.width / 2) }
        return SVG.path(west + east, isClosed: true)
    }
}
