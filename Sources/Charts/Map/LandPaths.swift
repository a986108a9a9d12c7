/// The land and its coasts on one map, as the data of two SVG paths. The coasts do not include edges that come from cutting the
/// land at the map's edge, or from the detour of Antarctica's ring past the South Pole.
struct LandPaths {
    private(set) var land = ""
    private(set) var coast = ""

    private let projection: Projection
    /// How far land is drawn on either side of the middle meridian, in degrees. Land is drawn a little beyond the map's edge,
    /// unless the map shows the whole globe.
    private let halfWidth: Double
    private let south: Double
    private let north: Double

    init(_ projection: Projection) {
        self.projection = projection
        let region = projection.region
        halfWidth = projection.isWorld ? 180 : min(180, region.width / 2 * 1.05)
        let margin = projection.isWorld ? 0 : (region.north - region.south) / 20
        (south, north) = (region.south - margin, region.north + margin)
        for ring in projection.isWorld ? Land.rings : Land.rings + Land.islands {
            // A ring may appear at both edges of the map.
            for turn in [-360.0, 0, 360] { append(ring, shiftedBy: turn - projection.centre) }
        }
    }

    private mutating func append(_ ring: [Land.Point], shiftedBy shift: Double) {
        var points = ring.map { Vertex(offset: $0.longitude + shift, latitude: $0.latitude, isCut: false) }
        points = Self.clipped(points, at: -halfWidth) { $0.offset >= -halfWidth }
        points = Self.clipped(points, at: halfWidth) { $0.offset <= halfWidth }
        guard points.contains(where: { (south...north).contains($0.latitude) }) || spans(points),
            points.count > 2
        else { return }
        var outline: [SVG.Point] = []
        var stretch: [SVG.Point] = []
        for (index, vertex) in points.enumerated() {
            let next = points[(index + 1) % points.count]
            let point = projection.point(latitude: vertex.latitude, offset: vertex.offset)
            outline.append(point)
            stretch.append(point)
            if vertex.isCut && next.isCut || min(vertex.latitude, next.latitude) < -89.9 {
                appendStretch(&stretch)
                outline += along(vertex, next)
            }
        }
        if !stretch.isEmpty { stretch.append(outline[0]) }
        appendStretch(&stretch)
        land += SVG.path(outline, isClosed: true)
    }

    private mutating func appendStretch(_ stretch: inout [SVG.Point]) {
        if stretch.count > 1 { coast += SVG.path(stretch) }
        stretch = []
    }

    private func spans(_ points: [Vertex]) -> Bool {
        points.contains { $0.latitude < south } && points.contains { $0.latitude > north }
    }

    /// Points between the ends of an edge along the map's border, which is curved on a map of the world.
    private func along(_ start: Vertex, _ end: Vertex) -> [SVG.Point] {
        let steps = Int(abs(end.latitude - start.latitude) / 2)
        return (0..<steps).map { step in
            let share = Double(step + 1) / Double(steps + 1)
            return projection.point(
                latitude: start.latitude + share * (end.latitude - start.latitude),
                offset: start.offset + share * (end.offset - start.offset))
        }
    }

    private struct Vertex {
        var offset: Double
        var latitude: Double
        var isCut: Bool
    }

    /// The part of a polygon on one side of a meridian (the algorithm of Sutherland and Hodgman).
    private static func clipped(
        _ points: [Vertex], at meridian: Double, isInside: (Vertex) -> Bool
    ) -> [Vertex] {
        guard points.contains(where: { !isInside($0) }) else { return points }
        var result: [Vertex] = []
        for (index, vertex) in points.enumerated() {
            let before = points[(index + points.count - 1) % points.count]
            if isInside(vertex) != isInside(before) {
                let share = (meridian - before.offset) / (vertex.offset - before.offset)
                result.append(
                    Vertex(
                        offset: meridian,
                        latitude: before.latitude + share * (vertex.latitude - before.latitude),
                        isCut: true))
            }
            if isInside(vertex) { result.append(vertex) }
        }
        return result
    }
}
