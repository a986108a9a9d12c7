import Feed
import SampleFeed
import TestSupport
import Testing

@testable import Association

@Suite("Results that do not depend on order")
struct OrderTests {
    private func rows(_ random: inout SplitMix64, earthquakes: Int = 60) -> [Solution] {
        var world = RandomWorld()
        return (0..<earthquakes).flatMap { _ in world.earthquake(&random) }
    }

    private func overrides(_ rows: [Solution], _ random: inout SplitMix64) -> [Override] {
        (0..<6).map { number in
            let (a, b) = (rows.randomElement(using: &random)!.code, rows.randomElement(using: &random)!.code)
            return number % 3 == 0 ? .different(a, b) : number % 3 == 1 ? .same(a, b) : .preferred(a)
        }
    }

    @Test("Rows in any order give the same groups (200 orders)")
    func shuffled() {
        var random = seededRandom()
        for _ in 0..<4 {
            let rows = rows(&random)
            let overrides = overrides(rows, &random)
            let expected = Association(overrides: overrides).earthquakes(of: rows)
            for _ in 0..<50 {
                let association = Association(overrides: overrides.shuffled(using: &random))
                #expect(association.earthquakes(of: rows.shuffled(using: &random)) == expected)
            }
        }
    }

    @Test("Renaming codes changes no group, unless costs are equal")
    func renamed() {
        var random = seededRandom()
        for _ in 0..<20 {
            // Copies and equal places would make costs equal, so authors are removed, and times and latitudes are changed a
            // little. Ids are removed because they contain the codes.
            let rows = rows(&random).map { row in
                var row = row
                row.author = nil
                row.ids = []
                row.time += .random(in: -500..<500, using: &random)
                row.latitude = min(90, row.latitude + .random(in: -0.01..<0.01, using: &random))
                return row
            }
            let numbers = Array(rows.indices).shuffled(using: &random)
            let names = Dictionary(
                uniqueKeysWithValues: zip(rows.map(\.code), numbers.map { ExactText("q\($0)") }))
            let renamed = rows.map { row in
                var row = row
                row.code = names[row.code]!
                return row
            }
            let expected = Association().earthquakes(of: rows).groups
            let found = Association().earthquakes(of: renamed).groups
            #expect(found == Set(expected.map { Set($0.map { names[$0]! }) }))
        }
    }

    @Test("Following single changes gives the same result as a rebuild")
    func followed() {
        var random = seededRandom()
        for _ in 0..<8 {
            var world = RandomWorld()
            world.duration = [120, 600, 3000].randomElement(using: &random)!
            var table = FollowedTable()
            for _ in 0..<120 {
                for _ in 0..<Int.random(in: 1...4, using: &random) { change(&table, &world, &random) }
                table.follow()
                #expect(table.earthquakes == table.rebuilt)
                if table.earthquakes != table.rebuilt { return }
            }
        }
    }

    private func change(
        _ table: inout FollowedTable, _ world: inout RandomWorld, _ random: inout SplitMix64
    ) {
        let codes = table.rows.keys.sorted()
        guard codes.count > 8 else {
            for row in world.earthquake(&random) { table.set(row) }
            return
        }
        let (a, b) = (codes.randomElement(using: &random)!, codes.randomElement(using: &random)!)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: for row in world.earthquake(&random) { table.set(row) }
        case 5..<12: table.set(world.revised(table.rows[a]!, &random))
        case 12..<15: table.remove(a)
        case 15:
            var row = table.rows[a]!
            row.ids = [a, b]
            table.set(row)
        case 16: table.set(world.copy(table.rows[a]!, of: table.rows[b]!))
        case 17: table.toggle(.same(a, b))
        case 18: table.toggle(.different(a, b))
        default:
            table.toggle(
                table.overrides.sorted { "\($0)" < "\($1)" }.randomElement(using: &random) ?? .preferred(a))
        }
    }

    @Test("200 orders of arrival end with identical groups, even with revisions and withdrawals in between")
    func arrivals() {
        var random = seededRandom()
        var world = RandomWorld()
        let final = (0..<25).flatMap { _ in world.earthquake(&random) }
        let overrides: [Override] = [
            .same(final[0].code, final[9].code), .different(final[3].code, final[4].code),
        ]
        let expected = Association(overrides: overrides).earthquakes(of: final).earthquakes
        for _ in 0..<200 {
            var table = FollowedTable()
            var pending = final.shuffled(using: &random).flatMap { row in
                // Some rows first arrive in a different version. Some of these are withdrawn before the final version arrives.
                random.chance(0.3) ? [world.revised(row, &random), row] : [row]
            }
            var latest: [ExactText: Int] = [:]
            for (index, row) in pending.enumerated() { latest[row.code] = index }
            for override in overrides { table.toggle(override) }
            let transient = world.earthquake(&random)
            for row in transient { table.set(row) }
            for (index, row) in pending.enumerated() {
                table.set(row)
                if random.chance(0.05), latest[row.code] != index { table.remove(row.code) }
                if random.chance(0.3) { table.follow() }
            }
            for row in transient { table.remove(row.code) }
            table.follow()
            pending = []
            #expect(table.earthquakes.values.sorted { $0.code < $1.code } == expected)
        }
    }

    @Test("A change regroups only the rows of its components")
    func touched() {
        var table = FollowedTable()
        for number in 0..<50 {
            table.set(row("usgs:\(number)", seconds: Double(number) * 60))
            table.set(row("gfz:\(number)", seconds: Double(number) * 60 + 1))
        }
        table.follow()
        table.set(row("gfz:20", seconds: 1202))
        table.follow()
        #expect(table.touched == 2)
        table.set(row("gfz:20", seconds: 1801))
        table.follow()
        #expect(table.touched == 4)
        #expect(table.earthquakes == table.rebuilt)
    }

    @Test("The components of a stream are the sets of rows that links connect")
    func components() {
        var random = seededRandom()
        for _ in 0..<20 {
            let rows = rows(&random, earthquakes: 40)
            let overrides = overrides(rows, &random)
            let association = Association(overrides: overrides)
            var stream = ComponentStream(association)
            var components: [[Solution]] = []
            for row in rows.sorted(by: { $0.time < $1.time }) { components += stream.add(row).map(\.rows) }
            components += stream.finish().map(\.rows)
            #expect(Set(components.map { Set($0.map(\.code)) }) == linked(rows, overrides, association))
        }
    }

    /// Finds the components by comparing every pair of rows.
    private func linked(_ rows: [Solution], _ overrides: [Override], _ association: Association) -> Set<
        Set<ExactText>
    > {
        var sets = DisjointSets(count: rows.count)
        for a in rows.indices {
            for b in rows.indices where a < b {
                let (first, second) = (rows[a], rows[b])
                let isPair =
                    first.agency != second.agency
                    && association.comparison.cost(association.located(first), association.located(second))
                        != nil
                let isListed =
                    first.ids.contains(second.code) && HardLinks.lists(first, second)
                    || second.ids.contains(first.code) && HardLinks.lists(second, first)
                let isSame =
                    overrides.contains(.same(first.code, second.code))
                    || overrides.contains(.same(second.code, first.code))
                guard isPair || isListed || isSame else { continue }
                let (left, right) = (sets.leader(of: a), sets.leader(of: b))
                if left != right { sets.join(left, right) }
            }
        }
        return Set(sets.members.filter { !$0.isEmpty }.map { Set($0.map { rows[Int($0)].code }) })
    }

    @Test("A crowd of rows is grouped the same way in any order")
    func crowd() {
        var random = seededRandom()
        var rows: [Solution] = []
        for agency in RandomWorld.agencies {
            for number in 0..<150 {
                rows.append(
                    row(
                        "\(agency):\(number)", seconds: .random(in: 0..<20, using: &random),
                        .random(in: 36..<36.3, using: &random),
                        magnitude: .random(in: 3..<3.5, using: &random)))
            }
        }
        let expected = Association().earthquakes(of: rows)
        for _ in 0..<3 { #expect(Association().earthquakes(of: rows.shuffled(using: &random)) == expected) }
        for earthquake in expected.earthquakes { #expect(earthquake.agencies == earthquake.members.count) }
        var table = FollowedTable()
        for row in rows { table.set(row) }
        table.follow()
        table.remove("gfz:7")
        table.set(rows[3])
        table.follow()
        #expect(table.earthquakes == table.rebuilt)
    }

    @Test("In a crowd, each row keeps its cheapest pairs with every other agency")
    func droppedPairs() {
        var random = seededRandom()
        let rows = (0..<600).map { number in
            row(
                "\(RandomWorld.agencies[number % 4]):\(number)", seconds: .random(in: 0..<5, using: &random),
                magnitude: .random(in: 3..<3.5, using: &random))
        }
        let parameters = Parameters.shipped
        let component = ComponentRows(rows, parameters)
        let comparison = Comparison(parameters)
        let kept = CandidatePairs(component, comparison, parameters)
        var expected: Set<[Int]> = []
        for a in rows.indices {
            for agency in 0..<component.agencies where agency != component.located[a].agency {
                let others = rows.indices.filter { component.located[$0].agency == agency }.compactMap { b in
                    comparison.cost(component.located[a], component.located[b]).map { (cost: $0, b: b) }
                }
                for other in others.sorted(by: { $0.cost < $1.cost }).prefix(CandidatePairs.partners) {
                    expected.insert([min(a, other.b), max(a, other.b)])
                }
            }
        }
        #expect(Set(kept.pairs.map { [Int($0.a), Int($0.b)] }) == expected)
    }
}
