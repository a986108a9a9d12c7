import Feed
import Foundation
import PostgreSQL
import QuakeStore
import SampleFeed
import Synchronization
import TestSupport
import Testing

@Suite("Selecting earthquakes")
struct SelectionTests {
    let server = TestServer.shared

    @Test("A stored earthquake is read back with the values that the decoder returned")
    func roundTrip() async throws {
        try await server.withDatabase { database in
            let document = sampleDocument(300)
            try await database.importDocument(document)

            let selected = try await database.quakes(QuakeSelection())

            let decoded = try decodedQuakes(document)
            #expect(selected.sorted { $0.code < $1.code } == decoded.sorted { $0.code < $1.code })
            #expect(selected.map(\.time) == decoded.map(\.time).sorted(by: >))
        }
    }

    @Test("Time, magnitude, circle and limit select what an independent filter selects")
    func filters() async throws {
        try await server.withDatabase { database in
            let document = sampleDocument(2000)
            try await database.importDocument(document)
            let all = try decodedQuakes(document).sorted { ($1.time, $0.code) < ($0.time, $1.code) }
            let centre = all[100]
            var selection = QuakeSelection()
            selection.since = all[1500].time
            selection.ranges[.magnitude] = 1...Double.infinity
            selection.near = .init(latitude: centre.latitude, longitude: centre.longitude, kilometres: 700)

            let selected = try await database.quakes(selection)

            let expected = all.filter {
                $0.time >= all[1500].time && $0.magnitude ?? -10 >= 1 && distance($0, centre) <= 700
            }
            #expect(!expected.isEmpty)
            #expect(selected.map(\.code) == expected.map(\.code))
            selection.limit = 2
            #expect(try await database.quakes(selection).map(\.code) == expected.prefix(2).map(\.code))
        }
    }

    @Test("A type selects events of both spellings, with a blank or with an underscore")
    func typeSpellings() async throws {
        try await server.withDatabase { database in
            for (code, type) in [("a", "quarry blast"), ("b", "Quarry_Blast"), ("c", "explosion")] {
                try await database.importFeatures([
                    SmallFeed.feature(code, more: #""type":"\#(type)""#)
                ])
            }
            var selection = QuakeSelection()
            for type in ["quarry blast", "quarry_blast"] {
                selection.types = [type]
                let found = try await database.quakes(selection)
                #expect(Set(found.map(\.code)) == ["q0a", "q0b"])
                #expect(try await database.quakes(QuakeSelection()).filter(selection.filter).count == 2)
            }
        }
    }

    @Test("A circle across the antimeridian includes both sides")
    func antimeridian() async throws {
        try await server.withDatabase { database in
            let east = SmallFeed.feature("e").replacing("[10,20,30]", with: "[179.9,0,1]")
            let west = SmallFeed.feature("w").replacing("[10,20,30]", with: "[-179.9,0,1]")
            try await database.importFeatures([east, west, SmallFeed.feature("far")])
            var selection = QuakeSelection()
            selection.near = .init(latitude: 0, longitude: 180, kilometres: 20)

            #expect(try await Set(database.quakes(selection).map(\.code)) == ["q0e", "q0w"])
        }
    }

    /// Uses the spherical law of cosines, whereas the store uses the haversine formula.
    private func distance(_ one: Quake, _ other: Quake) -> Double {
        let degree = Double.pi / 180
        let cosine =
            sin(one.latitude * degree) * sin(other.latitude * degree)
            + cos(one.latitude * degree) * cos(other.latitude * degree)
            * cos((one.longitude - other.longitude) * degree)
        return 6371 * acos(min(1, max(-1, cosine)))
    }

    private func sampleDocument(_ count: Int) -> String {
        var document: [UInt8] = []
        SampleFeed(count: count).write { document.append(contentsOf: $0) }
        return String(decoding: document, as: UTF8.self)
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
