import Feed
import PostgreSQL
import QuakeStore
import QuakeView
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("Selections from a server and from a view")
struct SelectionAgreementTests {
    @Test("A text with a line feed or a comma is one text, not two")
    func separators() async throws {
        try await TestServer.shared.withDatabase { database in
            try await database.importFeatures([SmallFeed.feature("a"), SmallFeed.feature("b")])
            for property in [Property.code, .status, .sources] {
                var selection = QuakeSelection()
                selection.values[property] = ["usa\nusb", "reviewed\nautomatic", "us\nci"]
                #expect(try await database.quakes(selection).isEmpty)
            }
            var selection = QuakeSelection()
            selection.types = ["earthquake,quarry blast"]
            #expect(try await database.quakes(selection).isEmpty)
        }
    }

    @Test("Random selections give the same events in the same order from a server and from a view")
    func random() async throws {
        var random = seededRandom()
        try await withFolder { folder in
            let path = folder.appending(path: "view.sqlite").path
            try await TestServer.shared.withDatabase { database in
                try await database.importSample(600, seed: random.next())
                try await database.query(Self.edges)
                let catchUp = Follower(
                    try database.options(), view: try SQLiteView(path), name: nil, logger: .quiet)
                _ = try await catchUp.catchUp()
                let all = try await database.quakes(QuakeSelection())
                let file = try ViewFile(path)
                var counts: Set<Int> = []
                let trials = rounds(50, of: 150)
                for _ in trials {
                    let selection = Self.selection(of: all, &random)
                    let expected = try await database.quakes(selection)
                    var found: [Quake] = []
                    _ = try file.forEach(selection) { found.append($0) }
                    #expect(found.map(\.code) == expected.map(\.code), "\(selection)")
                    #expect(found == expected)
                    #expect(
                        Set(expected.map(\.code)).isSubset(of: Self.filter(all, by: selection)),
                        "\(selection)")
                    if selection.limit == nil {
                        #expect(Set(expected.map(\.code)) == Self.filter(all, by: selection), "\(selection)")
                    }
                    counts.insert(expected.count)
                }
                #expect(15 * counts.count > 2 * trials.count, "\(counts)")
            }
        }
    }

    /// Equal magnitudes and places, letters of several scripts, wildcards, other types, and both sides of the antimeridian.
    private static let edges = Query(
        stringLiteral: """
            insert into quake (code, net, net_code, magnitude, time, updated, longitude, latitude, place, type)
            select 'edge' || row_number() over (), 'e', '', magnitude, '2025-06-01+00', '2026-01-01+00', longitude, latitude,
                   place, type
            from (values (1, 180, 0), (1, -180, 0), (null, 179.9, 0.1), (4, -179.9, -0.1), (5, 0, 90), (6, 359.5, -17.5))
                     as places (magnitude, longitude, latitude),
                 (values ('100% of A_B', 'quarry blast'), ('100 of AxB\\C', 'Rock Slide'), ('ŌMORI ridge', null),
                         ('ōmori [ridge]', 'earthquake'), ('Straße.', 'explosion'), (null, 'ice quake'),
                         ('\u{E9}', '\u{E9}'), ('e\u{301}', 'e\u{301}')) as words (place, type)
            """)

    private static func selection(of all: [Quake], _ random: inout SplitMix64) -> QuakeSelection {
        var selection = QuakeSelection()
        func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }
        func any() -> Quake { all.randomElement(using: &random)! }
        if chance(0.3) { selection.since = any().time }
        if chance(0.3) { selection.until = any().time }
        if chance(0.4), let one = any().magnitude, let other = any().magnitude {
            let (least, most) = (
                chance(0.7) ? min(one, other) : -.infinity, chance(0.7) ? max(one, other) : .infinity
            )
            selection.ranges[.magnitude] = least...most
        }
        if chance(0.1) {
            selection.values[.code] = (0...Int.random(in: 0...2, using: &random)).map { _ in any().code }
        }
        if chance(0.2) {
            selection.types = [["Earthquake"], ["quarry blast", "ROCK slide"], ["explosion"], ["E\u{301}"]]
                .randomElement(using: &random)
        }
        if chance(0.3) {
            let texts = ["ōM", "%", "_", "\\", "[r", ".", "STRASSE", "straße", "Km", " of "]
            selection.place = PlaceText(texts.randomElement(using: &random)!)
        }
        if chance(0.3) {
            let west = Double.random(in: -360...360, using: &random)
            let south = Double.random(in: -90...60, using: &random)
            selection.box = .init(
                south: south, west: west, north: south + 30,
                east: chance(0.2) ? west : Double.random(in: -360...360, using: &random))
        }
        if chance(0.4) {
            let centre = any()
            selection.near = .init(
                latitude: centre.latitude, longitude: centre.longitude,
                kilometres: Double.random(in: 10...20_000, using: &random))
        }
        selection.order = QuakeSelection.Order.allCases.randomElement(using: &random)!
        if chance(0.3) { selection.limit = Int.random(in: 1...40, using: &random) }
        return selection
    }

    /// Filters events as the documentation says, without SQL. Places are compared in lower case.
    private static func filter(_ all: [Quake], by selection: QuakeSelection) -> Set<String> {
        func east(_ from: Double, _ to: Double) -> Double {
            let turns = (to - from).truncatingRemainder(dividingBy: 360)
            return turns < 0 ? turns + 360 : turns
        }
        let chosen = all.filter { quake in
            if let since = selection.since, quake.time < since { return false }
            if let until = selection.until, quake.time >= until { return false }
            if let range = selection.ranges[.magnitude] {
                guard let magnitude = quake.magnitude, range.contains(magnitude) else { return false }
            }
            if let codes = selection.values[.code], !codes.contains(quake.code) { return false }
            let type = quake[.type].text ?? "earthquake"
            if let types = selection.types,
                !types.contains(where: { $0.lowercased().utf8.elementsEqual(type.lowercased().utf8) })
            {
                return false
            }
            if let place = selection.place?.text,
                quake[.place].text?.lowercased().unicodeScalars.contains(place.lowercased().unicodeScalars)
                    != true
            {
                return false
            }
            if let near = selection.near, !near.contains(quake) { return false }
            if let box = selection.box {
                let width = box.east - box.west >= 360 ? 360 : east(box.west, box.east)
                guard quake.latitude >= box.south, quake.latitude <= box.north,
                    east(box.west, quake.longitude) <= width
                else { return false }
            }
            return true
        }
        return Set(chosen.map(\.code))
    }
}

extension String.UnicodeScalarView {
    fileprivate func contains(_ other: String.UnicodeScalarView) -> Bool {
        String(self).utf8.split(separator: Array(String(other).utf8), omittingEmptySubsequences: false).count
            > 1
    }
}

extension TestDatabase {
    fileprivate func quakes(_ selection: QuakeSelection) async throws -> [Quake] {
        try await withConnection { connection in
            let found = Mutex<[Quake]>([])
            try await selection.forEach(on: connection) { quake in found.withLock { $0.append(quake) } }
            return found.withLock { $0 }
        }
    }
}
