struct Graticule {
    let projection: Projection
    private let step: Double

    init(_ projection: Projection) {
        self.projection = projection
        let region = projection.region
        let size = max(region.north - region.south, region.width / 1.6)
        let steps = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30]
        step = steps.first { size / $0 <= 7 } ?? 30
    }

    private var parallels: [Double] {
        multiples(from: projection.region.south, through: projection.region.north).filter { abs($0) < 90 }
    }

    private var meridians: [Double] {
        let region = projection.region
        let all = multiples(from: region.west, through: region.west + region.width)
        // The meridian at the globe's edge is left out, because it is drawn as the outline of the map.
        return projection.isWorld ? all.filter { abs(projection.offset($0)) < 179 } : all
    }

    private func multiples(from lower: Double, through upper: Double) -> [Double] {
        let first = Int((lower / step - 1e-9).rounded(.up))
        let last = Int((upper / step + 1e-9).rounded(.down))
        return first <= last ? (first...last).map { Double($0) * step } : []
    }

    func drawLines(in svg: inout SVG) {
        let region = projection.region
        for latitude in parallels {
            let ends = [-region.width / 2, region.width / 2]
            svg.polyline(ends.map { projection.point(latitude: latitude, offset: $0) }, class: "grid")
        }
        for longitude in meridians {
            let offset = offset(longitude)
            let latitudes =
                projection.isWorld
                ? Array(stride(from: -90.0, through: 90, by: 5)) : [region.south, region.north]
            svg.polyline(latitudes.map { projection.point(latitude: $0, offset: offset) }, class: "grid")
        }
    }

    func drawLabels(in svg: inout SVG) {
        let region = projection.region
        for latitude in parallels {
            let edge = projection.point(latitude: latitude, offset: -region.width / 2)
            svg.text(
                label(latitude, "N", "S"), at: .init(x: edge.x - 6, y: edge.y + 4), size: 11, anchor: .end,
                class: "s")
        }
        for longitude in meridians {
            let edge = projection.point(latitude: region.south, offset: offset(longitude))
            svg.text(
                label(Region.wrapped(longitude), "E", "W"), at: .init(x: edge.x, y: edge.y + 15), size: 11,
                anchor: .middle, class: "s")
        }
    }

    /// The degrees from the middle meridian. They are not wrapped to −180…180, because both edges of the map may be the same
    /// meridian.
    private func offset(_ longitude: Double) -> Double {
        longitude - projection.centre
    }

    private func label(_ degrees: Double, _ positive: String, _ negative: String) -> String {
        let hundredths = Int((abs(degrees) * 100).rounded())
        let text = hundredths % 100 == 0 ? "\(hundredths / 100)" : "\(Double(hundredths) / 100)"
        if hundredths == 0 || hundredths == 18_000 { return text + "°" }
        return "\(text)°\(degrees > 0 ? positive : negative)"
    }
}
