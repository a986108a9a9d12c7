import Foundation
import SampleFeed

/// An earthquake that the invented agencies report.
struct TrueEvent {
    var time: Int64
    var latitude: Double
    var longitude: Double
    var depth: Double?
    var magnitude: Double
}

/// The earthquakes of a USGS feed, in the order of their times.
func earthquakes(ofFeed path: String) throws -> [TrueEvent] {
    struct Feed: Decodable {
        struct Feature: Decodable {
            struct Properties: Decodable {
                let mag: Double?
                let time: Int64
                let type: String
            }
            struct Geometry: Decodable {
                let coordinates: [Double?]
            }
            let properties: Properties
            let geometry: Geometry
        }
        let features: [Feature]
    }
    let feed = try JSONDecoder().decode(Feed.self, from: Data(contentsOf: URL(filePath: path)))
    return feed.features.compactMap { feature in
        guard feature.properties.type == "earthquake", let magnitude = feature.properties.mag,
            let longitude = feature.geometry.coordinates[0], let latitude = feature.geometry.coordinates[1]
        else { return nil }
        return TrueEvent(
            time: feature.properties.time, latitude: latitude, longitude: longitude,
            depth: feature.geometry.coordinates[2], magnitude: magnitude)
    }.sorted { $0.time < $1.time }.withoutDoubles
}

extension [TrueEvent] {
    /// Leaves out events within 2 s and 20 km of an earlier event, because ComCat has some earthquakes twice. For example,
    /// ci38459127 and ci38459135 are 0.11 s and 1.6 km apart.
    fileprivate var withoutDoubles: [TrueEvent] {
        var kept: [TrueEvent] = []
        for event in self {
            let isDouble = kept.suffix(10).contains { other in
                let (north, east) = (event.latitude - other.latitude, event.longitude - other.longitude)
                let kilometres = 111.195 * hypot(north, east * cos(event.latitude * .pi / 180))
                return event.time - other.time <= 2000 && kilometres < 20
            }
            if !isDouble { kept.append(event) }
        }
        return kept
    }
}

extension SplitMix64 {
    /// A random number from the standard normal distribution.
    mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: .leastNonzeroMagnitude..<1, using: &self))).squareRoot()
        return radius * cos(.random(in: 0..<2 * .pi, using: &self))
    }
}
