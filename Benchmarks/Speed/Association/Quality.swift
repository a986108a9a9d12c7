import Association
import Feed
import Foundation
import SampleFeed

/// Measures the quality of the groups, compared with two other rules on the same rows.
struct Quality {
    let ridgecrest: [TrueEvent]
    let quiet: [TrueEvent]
    let seeds: [UInt64] = [1, 2, 3]

    init(_ folder: String) throws {
        ridgecrest = try earthquakes(ofFeed: "\(folder)/2019-07-19_2.5_month.geojson")
        quiet = try earthquakes(ofFeed: "\(folder)/2025-10-30_2.5_month.geojson")
    }

    func report() throws {
        for seed in seeds {
            let catalogue = MadeUpCatalogue(ridgecrest, seed: seed)
            print(
                "Ridgecrest month, seed \(seed): \(ridgecrest.count) earthquakes, \(catalogue.rows.count) rows"
            )
            print(pad("", 44) + Score.head)
            let parameters = MadeUpCatalogue.parameters()
            func line(_ name: String, _ groups: [ExactText: Int], _ catalogue: MadeUpCatalogue) {
                print(pad(name, 44) + Score(groups, catalogue).text)
            }
            line("like ComCat, in time order", Rivals.comcat(catalogue.rows), catalogue)
            var random = SplitMix64(seed: seed + 100)
            line("like ComCat, shuffled", Rivals.comcat(catalogue.rows.shuffled(using: &random)), catalogue)
            line("connected components", Rivals.components(catalogue.rows), catalogue)
            let groups = Rivals.association(catalogue.rows, parameters)
            line("association, cost at most \(Int(parameters.cost))", groups, catalogue)
            for cost in [25.0, 49, 64] where seed == seeds[0] {
                var other = parameters
                other.cost = cost
                line(
                    "association, cost at most \(Int(cost))", Rivals.association(catalogue.rows, other),
                    catalogue)
            }
            for (factor, name) in [(2.0, "every σ doubled"), (0.5, "every σ halved")] {
                var wrong = parameters
                wrong.scatter = parameters.scatter.scaled(by: factor)
                line("association, \(name)", Rivals.association(catalogue.rows, wrong), catalogue)
                wrong.scatter = fitted(catalogue, wrong, seed: seed)
                line("association, after the fit", Rivals.association(catalogue.rows, wrong), catalogue)
            }
            line("association, σ as shipped", Rivals.association(catalogue.rows, .shipped), catalogue)
            if seed == seeds[0] {
                strata(groups, catalogue)
            }
            var wide = MadeUpAgency.four
            for index in wide.indices { wide[index].kilometres *= 2.0.squareRoot() }
            let wider = MadeUpCatalogue(ridgecrest, wide, seed: seed)
            line(
                "distances 1.4 times as large",
                Rivals.association(wider.rows, MadeUpCatalogue.parameters(wide)), wider)
            var deep = MadeUpAgency.four
            for index in deep.indices { deep[index].depth = [0, 5, 10, 15][index] }
            let withDepths = MadeUpCatalogue(ridgecrest, deep, seed: seed)
            line(
                "depths scatter by 0/5/10/15 km", Rivals.association(withDepths.rows, parameters),
                withDepths)
            nullTest(seed, parameters)
            print()
        }
    }

    /// Fits the scatter to a random tenth of the earthquakes, as if hard links connected all rows of each of these earthquakes.
    private func fitted(_ catalogue: MadeUpCatalogue, _ parameters: Parameters, seed: UInt64) -> ScatterTable
    {
        var random = SplitMix64(seed: seed + 1000)
        let linked = Dictionary(grouping: catalogue.rows) { catalogue.truth[$0.code]! }
            .sorted { $0.key < $1.key }.map(\.value)
            .filter { _ in Double.random(in: 0..<1, using: &random) < 0.1 }
        return ScatterFit(linked, parameters).table(replacing: parameters.scatter)
    }

    private func strata(_ groups: [ExactText: Int], _ catalogue: MadeUpCatalogue) {
        let events = catalogue.events
        for (from, to) in [(2.0, 3.0), (3, 4), (4, 5), (5, 10)] {
            let score = Score(groups, catalogue) { (from..<to).contains(events[$0].magnitude) }
            print(pad("  magnitude \(from) to \(to): \(score.events)", 44) + score.text)
        }
        let density = events.indices.map { index in
            var count = 0
            for step in [-1, 1] {
                var other = index + step
                while events.indices.contains(other), abs(events[other].time - events[index].time) <= 60_000 {
                    let (a, b) = (events[index], events[other])
                    if abs(a.latitude - b.latitude) < 1, abs(a.longitude - b.longitude) < 1.2 { count += 1 }
                    other += step
                }
            }
            return count
        }
        for (name, range) in [
            ("no other within 60 s", 0...0), ("one other", 1...1), ("two others", 2...2),
            ("three or more", 3...99),
        ] {
            let score = Score(groups, catalogue) { range.contains(density[$0]) }
            print(pad("  \(name): \(score.events)", 44) + score.text)
        }
    }

    /// Shifts the times of one agency by an hour, so that every match of its rows is wrong, and prints the share of its rows that
    /// are matched.
    private func nullTest(_ seed: UInt64, _ parameters: Parameters) {
        for (name, events) in [("Ridgecrest", ridgecrest), ("quiet month", quiet)] {
            var texts: [String] = []
            for late in MadeUpAgency.four.map(\.name) {
                var rows = MadeUpCatalogue(events, seed: seed).rows
                for index in rows.indices where rows[index].agency == late { rows[index].time += 3_600_000 }
                let grouping = Association(parameters).earthquakes(of: rows)
                let matched = grouping.earthquakes.filter { $0.agencies > 1 }.flatMap(\.members).count {
                    $0.code.text.hasPrefix(late)
                }
                let all = rows.count { $0.agency == late }
                texts.append(String(format: "%@ %.2f %%", late, 100 * Double(matched) / Double(all)))
            }
            print(pad("  null test, \(name): matched", 44) + texts.joined(separator: ", "))
        }
    }
}

extension ScatterTable {
    /// The table with all standard deviations multiplied by a factor.
    fileprivate func scaled(by factor: Double) -> ScatterTable {
        var table = self
        for (name, rows) in rows {
            table.rows[name] = rows.map { row in
                let scatter = Scatter(
                    seconds: row.scatter.seconds * factor, kilometres: row.scatter.kilometres * factor,
                    magnitudes: row.scatter.magnitudes * factor)
                return Row(magnitude: row.magnitude, scatter: scatter, pairs: row.pairs)
            }
        }
        return table
    }
}
