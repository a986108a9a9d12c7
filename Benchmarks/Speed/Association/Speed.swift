import Association
import Foundation
import SampleFeed

/// Measures the time and memory of association.
enum Speed {
    /// Invented rows of three agencies in the order of their times, made one at a time.
    struct Rows: Sequence, IteratorProtocol {
        private var random = SplitMix64(seed: 7)
        private var pending: [Solution] = []
        private var number = 0
        private let events: Int
        private let gap: Double

        /// - Parameter gap: the average time between two earthquakes, in seconds.
        init(events: Int, gap: Double) { (self.events, self.gap) = (events, gap) }
        private var clock = 1_500_000_000_000.0

        mutating func next() -> Solution? {
            while number < events, pending.isEmpty || pending[0].time > Int64(clock) - 60_000 {
                clock += -log(.random(in: Double.leastNonzeroMagnitude..<1, using: &random)) * gap * 1000
                number += 1
                let event = TrueEvent(
                    time: Int64(clock), latitude: .random(in: -70...70, using: &random),
                    longitude: .random(in: -180...180, using: &random),
                    depth: .random(in: 0...100, using: &random),
                    magnitude: 2.5 - log10(.random(in: 0.0001..<1, using: &random)))
                for var agency in MadeUpAgency.four.dropFirst() {
                    agency.half = -9
                    if let row = agency.report(event, "\(agency.name):\(number)", &random) {
                        let place = pending.firstIndex { $0.time > row.time } ?? pending.count
                        pending.insert(row, at: place)
                    }
                }
            }
            return pending.isEmpty ? nil : pending.removeFirst()
        }
    }

    static func report() {
        let count = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 100_000 : 100_000
        let base = peakMegabytes()
        var start = processorSeconds()
        var made = 0
        for _ in Rows(events: count, gap: 60) { made += 1 }
        let making = processorSeconds() - start
        start = processorSeconds()
        let association = Association(MadeUpCatalogue.parameters())
        var stream = ComponentStream(association)
        var (groups, rows, largest) = (0, 0, 0)
        func take(_ components: [ComponentStream.Component]) {
            for component in components {
                let grouping = association.group(component.rows)
                groups += grouping.earthquakes.count
                rows += component.rows.count
                largest = max(largest, component.rows.count)
            }
        }
        for row in Rows(events: count, gap: 60) { take(stream.add(row)) }
        take(stream.finish())
        let seconds = processorSeconds() - start - making
        print(
            String(
                format:
                    "%d rows in %d earthquakes: %.2f s of CPU time (%.2f µs a row), peak %.0f MB (%.0f before); largest component %d",
                rows, groups, seconds, seconds / Double(max(rows, 1)) * 1e6, peakMegabytes(), base, largest))
    }

    /// Measures the grouping of 10,000 events of each of four agencies within a minute, first all in one place and then ever
    /// farther apart.
    static func crowd() {
        let count = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 10_000 : 10_000
        for (name, width) in [
            ("in one place", 0.3), ("within 100 km", 0.9), ("within 1,000 km", 9),
            ("all over the world", 180.0),
        ] {
            var random = SplitMix64(seed: 9)
            var rows: [Solution] = []
            for agency in ["a", "b", "c", "d"] {
                for number in 0..<count {
                    rows.append(
                        Solution(
                            code: "\(agency):\(number)", agency: agency,
                            time: .random(in: 0..<60_000, using: &random),
                            latitude: .random(in: -width / 2...width / 2, using: &random),
                            longitude: .random(in: -width...width, using: &random),
                            magnitude: .random(in: 2...3, using: &random)))
                }
            }
            rows.sort { $0.time < $1.time }
            let association = Association(MadeUpCatalogue.parameters())
            let start = processorSeconds()
            let grouping = association.earthquakes(of: rows)
            let whole = processorSeconds() - start
            let again = processorSeconds()
            var neighbourhood = Neighbourhood(
                association, [SolutionChange(before: rows[2 * count], after: rows[2 * count])])
            while let request = neighbourhood.request {
                switch request {
                case .times(let ranges):
                    neighbourhood.add(
                        rows.filter { row in ranges.contains { $0.contains(row.time) } }, for: request)
                case .codes(let codes):
                    neighbourhood.add(rows.filter { codes.contains($0.code) }, for: request)
                }
            }
            _ = association.group(neighbourhood.rows)
            print(
                String(
                    format:
                        "%d rows within a minute, %@: %d earthquakes, %.1f s of CPU time; a revision takes %.1f s and concerns %d rows; peak %.0f MB",
                    rows.count, name, grouping.earthquakes.count, whole, processorSeconds() - again,
                    neighbourhood.rows.count, peakMegabytes()))
            fflush(nil)
        }
    }

    /// Adds invented small earthquakes to the Ridgecrest sequence, as if the catalogue had all earthquakes from magnitude 1.
    /// Measures the sizes of the components, the time to group the largest one, and the quality of the groups.
    static func dense(_ folder: String) throws {
        let events = try earthquakes(ofFeed: "\(folder)/2019-07-19_2.5_month.geojson")
        for copies in [1, 3, 10] {
            var random = SplitMix64(seed: 3)
            var more: [TrueEvent] = []
            for event in events
            where event.latitude > 35 && event.latitude < 36.5 && event.longitude < -117
                && event.longitude > -118.5
            {
                more.append(event)
                for _ in 1..<max(copies, 1) where copies > 1 {
                    var small = event
                    small.time += Int64.random(in: -1_800_000...1_800_000, using: &random)
                    small.magnitude = 1 - log10(.random(in: 0.01..<1, using: &random))
                    more.append(small)
                }
            }
            var agencies = MadeUpAgency.four
            for index in agencies.indices { agencies[index].half -= 1.5 }
            let catalogue = MadeUpCatalogue(more.sorted { $0.time < $1.time }, agencies, seed: 4)
            let association = Association(MadeUpCatalogue.parameters())
            var stream = ComponentStream(association)
            var components: [[Solution]] = []
            for row in catalogue.rows { components += stream.add(row).map(\.rows) }
            components += stream.finish().map(\.rows)
            let sizes = components.map(\.count).sorted()
            let largest = components.max { $0.count < $1.count }!
            let start = processorSeconds()
            _ = association.group(largest)
            let seconds = processorSeconds() - start
            let groups = Rivals.association(catalogue.rows, MadeUpCatalogue.parameters())
            let comcat = Score(Rivals.comcat(catalogue.rows), catalogue)
            let score = Score(groups, catalogue)
            print(
                String(
                    format:
                        "%d times as dense: %d rows; the median component has %d, the largest %d (%.0f ms to group); precision, recall and exact groups: %@; with ComCat's rule: %@",
                    copies, catalogue.rows.count, sizes[sizes.count / 2], sizes[sizes.count - 1],
                    seconds * 1000,
                    score.text, comcat.text))
        }
    }
}
