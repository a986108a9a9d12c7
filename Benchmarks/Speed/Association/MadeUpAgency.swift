import Association
import Feed
import Foundation
import SampleFeed

/// An invented agency that reports true events with scatter.
struct MadeUpAgency {
    var name: String
    var seconds: Double
    /// The root mean square of the distance from the true epicentre.
    var kilometres: Double
    var magnitudes: Double
    /// The magnitude at which the agency detects half of the earthquakes.
    var half: Double
    /// The standard deviation of the agency's depths, in km. A solution that is 8 km deeper has an origin time that is a second
    /// later.
    var depth = 0.0

    /// Four agencies. The first reports every true event without errors; the last misses many small events.
    static let four = [
        MadeUpAgency(name: "a", seconds: 0, kilometres: 0, magnitudes: 0, half: -9),
        MadeUpAgency(name: "b", seconds: 1.2, kilometres: 8, magnitudes: 0.2, half: 2.45),
        MadeUpAgency(name: "c", seconds: 2, kilometres: 16, magnitudes: 0.25, half: 2.75),
        MadeUpAgency(name: "d", seconds: 3, kilometres: 25, magnitudes: 0.3, half: 3.1),
    ]

    /// The agency's solution of an event; nil if the event is not detected. 3 % of the solutions have three times the scatter.
    func report(_ event: TrueEvent, _ code: ExactText, _ random: inout SplitMix64) -> Solution? {
        let seen = 1 / (1 + exp((half - event.magnitude) / 0.25))
        guard Double.random(in: 0..<1, using: &random) < seen else { return nil }
        let worse = Double.random(in: 0..<1, using: &random) < 0.03 ? 3.0 : 1
        let north = random.normal() * kilometres / 2.0.squareRoot() * worse
        let east = random.normal() * kilometres / 2.0.squareRoot() * worse
        let deeper = event.depth == nil ? 0 : random.normal() * depth * worse
        let late = random.normal() * seconds * worse + deeper / 8
        let width = max(0.02, cos(event.latitude * .pi / 180)) * 111.195
        return Solution(
            code: code, agency: name, time: event.time + Int64((late * 1000).rounded()),
            latitude: min(90, max(-90, event.latitude + north / 111.195)),
            longitude: event.longitude + east / width,
            depth: event.depth.map { max(0, $0 + deeper) },
            magnitude: ((event.magnitude + random.normal() * magnitudes * worse) * 10).rounded() / 10)
    }
}

/// Rows of invented agencies, and the true event that each row reports.
struct MadeUpCatalogue {
    var events: [TrueEvent]
    var rows: [Solution] = []
    var truth: [ExactText: Int] = [:]

    init(_ events: [TrueEvent], _ agencies: [MadeUpAgency] = MadeUpAgency.four, seed: UInt64) {
        self.events = events
        var random = SplitMix64(seed: seed)
        for (number, event) in events.enumerated() {
            for agency in agencies {
                let code = ExactText("\(agency.name)\(random.next() % 1_000_000_000_000)")
                guard let row = agency.report(event, code, &random) else { continue }
                rows.append(row)
                truth[code] = number
            }
        }
        rows.sort { $0.time < $1.time }
    }

    /// The shipped parameters with the true scatter of the agencies.
    static func parameters(_ agencies: [MadeUpAgency] = MadeUpAgency.four) -> Parameters {
        var parameters = Parameters.shipped
        for agency in agencies {
            let scatter = Scatter(
                seconds: agency.seconds, kilometres: agency.kilometres, magnitudes: agency.magnitudes)
            parameters.scatter.rows[agency.name] = [
                ScatterTable.Row(magnitude: -.infinity, scatter: scatter, pairs: 0)
            ]
        }
        return parameters
    }
}
