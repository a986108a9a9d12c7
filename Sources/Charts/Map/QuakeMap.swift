/// A map of earthquakes. The size of a symbol shows the magnitude, and its colour shows the depth.
public enum QuakeMap {
    /// - Parameter region: the region to show, including margins.
    public static func svg(_ events: [ChartEvent], region: Region, caption: Caption) -> String {
        let (left, top) = (54.0, 56.0)
        let width = 1040.0
        let projection = Projection(
            region, origin: .init(x: left, y: top), maximumWidth: width - left - 24, maximumHeight: 760)
        let outline = outline(projection)
        let graticule = Graticule(projection)
        let shown = events.filter { $0.isOnGlobe && projection.contains($0) }
        let symbols = Symbols(shown)

        var svg = SVG(caption, width: width)
        svg.element("path", ["class": "sea", "d": outline])
        svg.frame(outline) { svg in
            let paths = LandPaths(projection)
            svg.element("path", ["class": "land", "fill-rule": "evenodd", "d": paths.land])
            graticule.drawLines(in: &svg)
            svg.element("path", ["class": "coast", "d": paths.coast])
            let points = shown.map {
                ($0, projection.point(latitude: $0.latitude, longitude: $0.longitude))
            }
            symbols.draw(points, in: &svg)
        }
        graticule.drawLabels(in: &svg)
        let legend = SVG.Point(x: left, y: top + projection.height + 48)
        let height = symbols.drawLegend(of: shown, at: legend, in: &svg)
        return svg.document(linesFrom: .init(x: left, y: legend.y + height))
    }

    /// The edge of the map. On a map of the world, it is the edge of the globe.
    private static func outline(_ projection: Projection) -> String {
        let region = projection.region
        let latitudes =
            projection.isWorld
            ? Array(stride(from: -90.0, through: 90, by: 2)) : [region.south, region.north]
        let west = latitudes.map { projection.point(latitude: $0, offset: -region.width / 2) }
        let east = latitudes.reversed().map { projection.point(latitude: $0, offset: region.width / 2) }
        return SVG.path(west + east, isClosed: true)
    }
}
