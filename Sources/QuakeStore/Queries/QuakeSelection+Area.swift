import Feed
import Glibc
import PostgreSQL

extension QuakeSelection {
    /// A circle on the earth's surface. The earth is taken as a sphere with a radius of 6371 km.
    public struct Circle: Sendable, Equatable {
        /// Latitude and longitude of the centre, in degrees.
        public var latitude: Double
        public var longitude: Double
        public var kilometres: Double
        /// Events nearer than this are left out, so that the circle becomes a ring. Events exactly on an edge are included.
        public var innerKilometres: Double

        public init(
            latitude: Double, longitude: Double, kilometres: Double, innerKilometres: Double = 0
        ) {
            self.latitude = latitude
            self.longitude = longitude
            self.kilometres = kilometres
            self.innerKilometres = innerKilometres
        }

        /// One degree of a great circle in km.
        public static let kilometresPerDegree = 6371 * Double.pi / 180

        public func contains(_ quake: Quake) -> Bool {
            let distance = distance(toLatitude: quake.latitude, longitude: quake.longitude)
            return innerKilometres <= distance && distance <= kilometres
        }

        /// The distance from the centre, in km.
        public func distance(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
            greatCircleKilometres(
                fromLatitude: latitude, longitude: longitude,
                toLatitude: otherLatitude, longitude: otherLongitude)
        }

        var distanceExpression: Query {
            "report.distance_km(\(latitude), \(longitude), latitude, longitude)"
        }

        var condition: Query {
            let outer: Query = """
                abs(latitude - \(latitude)) <= \(kilometres) / 111.0
                and \(distanceExpression) <= \(kilometres)
                """
            guard innerKilometres > 0 else { return outer }
            return "\(outer) and \(distanceExpression) >= \(innerKilometres)"
        }
    }

    /// A box between two parallels and two meridians, its edges included. It runs from `west` eastwards to `east`, across the
    /// date line if necessary. Both longitudes may be given from −180 to 180 or from 0 to 360.
    public struct Box: Sendable, Equatable {
        /// The four edges, in degrees.
        public var south: Double
        public var west: Double
        public var north: Double
        public var east: Double

        public init(south: Double, west: Double, north: Double, east: Double) {
            (self.south, self.west, self.north, self.east) = (south, west, north, east)
        }

        /// The box's width in degrees of longitude, up to 360. A box from a meridian to itself has a width of 0.
        public var width: Double {
            let width = east - west
            return width < 0 ? width - 360 * (width / 360).rounded(.down) : min(width, 360)
        }

        /// How far outside the western and eastern edges a position may be, in degrees. This is less than a millimetre. Adding
        /// 360° to a longitude rounds it, so without this room, an event exactly on an edge could be outside.
        private static let room = 1e-9

        public func contains(_ quake: Quake) -> Bool {
            let offset = quake.longitude - west + Self.room
            return (south...north).contains(quake.latitude)
                && offset - 360 * (offset / 360).rounded(.down) <= width + 2 * Self.room
        }

        var condition: Query {
            """
            latitude between \(south) and \(north)
            and longitude - \(west - Self.room) - 360 * floor((longitude - \(west - Self.room)) / 360) <= \(width + 2 * Self.room)
            """
        }
    }
}
