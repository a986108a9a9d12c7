import Feed
import Glibc
import SampleFeed
import TestSupport

@testable import Association

extension SplitMix64 {
    mutating func chance(_ part: Double) -> Bool { Double.random(in: 0..<1, using: &self) < part }

    mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: .leastNonzeroMagnitude..<1, using: &self))).squareRoot()
        return radius * cos(.random(in: 0..<2 * .pi, using: &self))
    }
}

/// A row. Its code begins with its agency, for example `gfz:1`.
func row(
    _ code: String, seconds: Double = 0, _ latitude: Double = 36, _ longitude: Double = -117,
    depth: Double? = nil,
    magnitude: Double? = 4, firstSeen: Int64 = 0
) -> Solution {
    let agency = String(code.prefix { $0 != ":" })
    return Solution(
        code: ExactText(code), agency: agency, firstSeen: firstSeen, time: Int64((seconds * 1000).rounded()),
        latitude: latitude, longitude: longitude, depth: depth, magnitude: magnitude)
}

extension Grouping {
    /// The codes of each earthquake.
    var groups: Set<Set<ExactText>> { Set(earthquakes.map { Set($0.members.map(\.code)) }) }

    func earthquake(of code: ExactText) -> Earthquake? {
        earthquakes.first { $0.members.contains { $0.code == code } }
    }

    func member(_ code: ExactText) -> Member? { earthquake(of: code)?.members.first { $0.code == code } }
}

extension Association {
    func groups(_ rows: Solution...) -> Set<Set<ExactText>> { earthquakes(of: rows).groups }

    /// The row in the form that `comparison` needs. All rows get the same agency, which `comparison` ignores.
    func located(_ row: Solution) -> Located { Located(row, agency: 0, parameters) }
}

/// A table in memory. `follow()` updates its earthquakes after changes.
struct FollowedTable {
    private(set) var rows: [ExactText: Solution] = [:]
    private(set) var overrides: Set<Override> = []
    let parameters: Parameters
    /// The earthquakes that the passes have written, by code.
    private(set) var earthquakes: [ExactText: Earthquake] = [:]
    /// The number of rows that the last pass grouped again.
    private(set) var touched = 0
    private var before: [ExactText: Solution?] = [:]
    private var changedOverrides: [Override] = []

    init(_ parameters: Parameters = .shipped) { self.parameters = parameters }

    var association: Association { Association(parameters, overrides: Array(overrides)) }

    mutating func set(_ row: Solution) { change(row.code, to: row) }

    mutating func remove(_ code: ExactText) { change(code, to: nil) }

    private mutating func change(_ code: ExactText, to row: Solution?) {
        if before[code] == nil { before[code] = .some(rows[code]) }
        rows[code] = row
    }

    mutating func toggle(_ override: Override) {
        if overrides.remove(override) == nil { overrides.insert(override) }
        changedOverrides.append(override)
    }

    /// Regroups the rows that are affected by changes since the last pass, and replaces their earthquakes.
    mutating func follow() {
        let changes = before.map { SolutionChange(before: $0.value, after: rows[$0.key]) }
        let association = association
        var neighbourhood = Neighbourhood(association, changes, overrides: changedOverrides)
        while let request = neighbourhood.request {
            neighbourhood.add(read(request), for: request)
        }
        let codes = neighbourhood.codes
        touched = neighbourhood.rows.count
        earthquakes = earthquakes.filter { !$0.value.members.contains { codes.contains($0.code) } }
        for earthquake in association.group(neighbourhood.rows).earthquakes {
            earthquakes[earthquake.code] = earthquake
        }
        (before, changedOverrides) = ([:], [])
    }

    private func read(_ request: Neighbourhood.Request) -> [Solution] {
        switch request {
        case .times(let ranges): rows.values.filter { row in ranges.contains { $0.contains(row.time) } }
        case .codes(let codes): codes.compactMap { rows[$0] }
        }
    }

    /// The earthquakes that result from grouping all rows at once, by code.
    var rebuilt: [ExactText: Earthquake] {
        let all = association.earthquakes(of: Array(rows.values)).earthquakes
        return Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0) })
    }
}

/// Rows of four agencies in a dense sequence. Some rows list the ids of other rows, and some copy or resemble other rows.
struct RandomWorld {
    static let agencies = ["usgs", "emsc", "gfz", "ingv"]
    /// Seconds over which the earthquakes are spread.
    var duration = 600.0
    var places: [(Double, Double)] = [(36, -117), (36.5, -117.3), (-17, 179.9), (-17.1, -179.9), (89.6, 20)]
    private var number = 0

    mutating func earthquake(_ random: inout SplitMix64) -> [Solution] {
        let (latitude, longitude) = places.randomElement(using: &random)!
        let time = Double.random(in: 0..<duration, using: &random)
        let magnitude = Double.random(in: 2..<5, using: &random)
        var rows: [Solution] = []
        for agency in Self.agencies where random.chance(0.7) {
            number += 1
            var report = row(
                "\(agency):\(number)", seconds: time + 2 * random.normal(),
                min(90, latitude + 0.1 * random.normal()), longitude + 0.1 * random.normal(),
                depth: random.chance(0.2)
                    ? nil : (random.chance(0.4) ? 10 : .random(in: 0..<150, using: &random)),
                magnitude: random.chance(0.1) ? nil : magnitude + 0.2 * random.normal(),
                firstSeen: Int64.random(in: 0..<20, using: &random))
            report.updated = .random(in: 0..<5, using: &random)
            report.ids = [report.code]
            if agency == "usgs", random.chance(0.3) {
                report.ids.append("usgs:\(Int.random(in: 1...number, using: &random))")
            }
            if agency == "emsc", random.chance(0.5), let other = rows.last {
                report = copy(report, of: other)
            }
            rows.append(report)
        }
        return rows
    }

    func copy(_ row: Solution, of other: Solution) -> Solution {
        var copy = row
        copy.author = other.network
        (copy.time, copy.latitude, copy.longitude) = (other.time, other.latitude, other.longitude)
        (copy.depth, copy.magnitude) = (other.depth, other.magnitude)
        return copy
    }

    /// A later version of a row, at nearly the same place or at a different place.
    func revised(_ row: Solution, _ random: inout SplitMix64) -> Solution {
        var row = row
        row.updated += 1
        if random.chance(0.3) {
            (row.latitude, row.longitude) = places.randomElement(using: &random)!
            row.time += .random(in: -60_000..<60_000, using: &random)
        } else {
            row.time += .random(in: -3000..<3000, using: &random)
            row.latitude = min(90, row.latitude + 0.1 * random.normal())
        }
        if random.chance(0.2) { row.magnitude = row.magnitude.map { $0 + random.normal() } }
        if random.chance(0.2) { row.ids = [row.code] }
        return row
    }
}
