import QuakeStore

extension QuakeSelection {
    /// Sets the box and the circle. If both are given, the events inside both are selected, as at the USGS.
    mutating func setArea(_ parameters: EventParameters) throws {
        box = try Self.box(parameters)
        near = try Self.circle(parameters)
    }

    /// A box whose western edge is east of its eastern edge crosses the date line. A missing western edge is −180, or −360 if the
    /// eastern edge is less than −180. A missing eastern edge is 180, or 360 if the western edge is greater than 180.
    private static func box(_ parameters: EventParameters) throws -> Box? {
        let latitudes = try parameters.range(.minlatitude, .maxlatitude)
        let (west, east) = (try parameters.number(.minlongitude), try parameters.number(.maxlongitude))
        guard latitudes != nil || west != nil || east != nil else { return nil }
        return Box(
            south: max(latitudes?.lowerBound ?? -90, -90), west: west ?? (east ?? 0 < -180 ? -360 : -180),
            north: min(latitudes?.upperBound ?? 90, 90), east: east ?? (west ?? 0 > 180 ? 360 : 180))
    }

    private static func circle(_ parameters: EventParameters) throws -> Circle? {
        let degrees = try parameters.range(.minradius, .maxradius)
        let kilometres = try parameters.range(.minradiuskm, .maxradiuskm)
        switch (try parameters.number(.latitude), try parameters.number(.longitude)) {
        case (nil, nil):
            guard degrees == nil, kilometres == nil else {
                throw Refusal(400, "a radius needs latitude and longitude")
            }
            return nil
        case (let latitude?, let longitude?):
            guard degrees == nil || kilometres == nil else {
                throw Refusal(400, "a radius is either in degrees or in kilometres")
            }
            let radii = kilometres ?? degrees.map(Circle.kilometres)
            return Circle(
                latitude: latitude, longitude: longitude, kilometres: radii?.upperBound ?? .infinity,
                innerKilometres: max(0, radii?.lowerBound ?? 0))
        case (_?, nil): throw Refusal(400, "latitude needs longitude")
        case (nil, _?): throw Refusal(400, "longitude needs latitude")
        }
    }
}

extension QuakeSelection.Circle {
    /// Converts radii to kilometres. 180 degrees become infinity, so that rounding excludes no event on the far side of the
    /// earth.
    fileprivate static func kilometres(_ degrees: ClosedRange<Double>) -> ClosedRange<Double> {
        let greatest = degrees.upperBound >= 180 ? .infinity : degrees.upperBound * kilometresPerDegree
        return degrees.lowerBound * kilometresPerDegree...greatest
    }
}
