import Foundation
import SampleFeed
import Testing

@testable import Feed

@Suite struct SampleFeedTests {
    /// A feed that is large enough to contain rare cases. It is parsed only once.
    private static let large = Result { try document(of: SampleFeed(count: 8000)) }

    @Test func aFeedHasTheSameBytesOnEveryMachine() {
        #expect(hash(bytes(of: SampleFeed(count: 1000))) == 14_939_196_776_967_121_952)
        #expect(hash(bytes(of: SampleFeed(count: 1000, seed: 1, revised: 0.1))) == 8_569_045_935_779_814_766)
        #expect(bytes(of: SampleFeed(count: 100, seed: 1)) != bytes(of: SampleFeed(count: 100, seed: 2)))
    }

    @Test(arguments: [0, 1, 2, 1000])
    func aFeedIsAFeatureCollectionWithTheRequestedCount(count: Int) throws {
        let data = Data(bytes(of: SampleFeed(count: count)))
        let document = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        #expect(document["type"] as? String == "FeatureCollection")
        #expect((document["metadata"] as? [String: Any])?["count"] as? Int == count)
        #expect((document["features"] as? [Any])?.count == count)
        #expect((document["bbox"] as? [Any])?.count == (count == 0 ? nil : 6))
    }

    @Test func aFeatureHasEveryPropertyInTheOrderOfTheRealFeed() throws {
        let names = [
            "mag", "place", "time", "updated", "tz", "url", "detail", "felt", "cdi", "mmi", "alert", "status",
            "tsunami", "sig", "net", "code", "ids", "sources", "types", "nst", "dmin", "rms", "gap",
            "magType",
            "type", "title",
        ]
        for line in lines(of: SampleFeed(count: 300)) {
            var rest = Substring(line)
            for name in names {
                let range = try #require(rest.range(of: "\"\(name)\":"), "\(name) in \(line)")
                rest = rest[range.upperBound...]
            }
        }
    }

    @Test func piecesAreBoundedAndEndWhereAFeatureEnds() {
        var sizes: [Int] = []
        var ends: Set<UInt8> = []
        SampleFeed(count: 2000).write {
            sizes.append($0.count)
            ends.insert($0[$0.count - 1])
        }
        #expect(sizes.count > 20)
        #expect(sizes.allSatisfy { $0 <= 65_536 })
        #expect(sizes.dropLast().allSatisfy { $0 > 60_000 })
        #expect(ends == [UInt8(ascii: "}"), UInt8(ascii: "\n")])
    }

    @Test func anErrorOfTheWriterEndsTheFeed() {
        struct Full: Error {}
        var calls = 0
        #expect(throws: Full.self) {
            try SampleFeed(count: 1000).write { _ in
                calls += 1
                throw Full()
            }
        }
        #expect(calls == 1)
    }

    @Test func aShorterFeedHoldsTheNewestEventsOfALongerOne() {
        let long = lines(of: SampleFeed(count: 1000, seed: 7, revised: 0.3))
        #expect(lines(of: SampleFeed(count: 400, seed: 7, revised: 0.3)) == Array(long.prefix(400)))
    }

    @Test func identifiersAreNetworkAndCodeAndNeverRepeat() throws {
        var identifiers: Set<String> = []
        var codes: Set<String> = []
        let features = try Self.large.get().features
        for feature in features {
            let quake = feature.properties
            #expect(feature.id == quake.net + quake.code)
            #expect(quake.ids.contains(",\(feature.id),"))
            #expect(quake.sources.contains(",\(quake.net),"))
            for id in quake.ids.split(separator: ",") {
                #expect(identifiers.insert(String(id)).inserted, "\(id)")
            }
            codes.insert(quake.code)
        }
        #expect(codes.count < features.count, "as in real feeds, several networks use the same code")
    }

    @Test func originTimesGoBackFromAFixedDateAndNothingIsUpdatedAfterTheDocument() throws {
        let document = try document(of: SampleFeed(count: 2000, revised: 0.5))
        let times = document.features.map(\.properties.time)
        #expect(times.first.map { $0 > 1_767_225_600_000 - 240_000 && $0 <= 1_767_225_600_000 } == true)
        #expect(zip(times, times.dropFirst()).allSatisfy(>))
        for quake in document.features.map(\.properties) {
            #expect(quake.updated > quake.time && quake.updated < document.metadata.generated)
        }
    }

    @Test(arguments: [1_767_225_600_001, 1_795_000_000_000, 1_900_000_000_000, 1_500_000_000_000] as [Int64])
    func aFeedEndsAtTheRequestedTime(end: Int64) throws {
        let document = try document(
            of: SampleFeed(count: 2000, revised: 0.5, until: Instant(milliseconds: end)))
        let times = document.features.map(\.properties.time)
        #expect(times.first.map { $0 > end - 2 * 240_000 && $0 <= end } == true)
        #expect(zip(times, times.dropFirst()).allSatisfy(>))
        #expect(Set(document.features.map(\.id)).count == 2000)
        #expect((0...240_000).contains(Int(end) + 4_200_000 - document.metadata.generated))
        for quake in document.features.map(\.properties) {
            #expect(quake.updated > quake.time && quake.updated < document.metadata.generated)
        }
    }

    @Test func aLaterFeedContinuesAnEarlierOne() throws {
        let start = SampleFeed.standardEnd.milliseconds
        for end in [start, start + 30_000_000_000] {
            let old = try features(of: SampleFeed(count: 3000, until: Instant(milliseconds: end)))
            let new = try features(
                of: SampleFeed(count: 3015, until: Instant(milliseconds: end + 3_600_000)))

            for (before, after) in zip(old, new.dropFirst(15)) {
                #expect(after.properties.updated >= before.properties.updated)
                var rest = after
                rest.properties.updated = before.properties.updated
                #expect(rest == before)
            }
        }
    }

    @Test(arguments: [0.01, 0.25, 1])
    func aRevisedFeedDiffersInTheRequestedFractionOfItsEvents(fraction: Double) throws {
        let count = 2000
        let before = SampleFeed(count: count, seed: 3)
        let after = SampleFeed(count: count, seed: 3, revised: fraction)
        let changed = zip(lines(of: before), lines(of: after)).map { $0 != $1 }
        #expect(abs(changed.count { $0 } - Int(fraction * Double(count))) <= 3)

        for (old, new) in zip(try features(of: before), try features(of: after)) {
            guard old.properties.updated != new.properties.updated else {
                #expect(old == new)
                continue
            }
            #expect(new.properties.updated > old.properties.updated)
            #expect(new.properties.status == "reviewed")
            if let mag = old.properties.mag {
                #expect(abs(try #require(new.properties.mag) - mag) < 0.21)
            }
            var rest = new
            rest.properties.updated = old.properties.updated
            rest.properties.status = old.properties.status
            rest.properties.mag = old.properties.mag
            rest.properties.nst = old.properties.nst
            rest.properties.sig = old.properties.sig
            rest.properties.title = old.properties.title
            rest.properties.types = old.properties.types
            rest.geometry.coordinates[2] = old.geometry.coordinates[2]
            #expect(rest == old)
        }
    }

    @Test func aLargerFractionContainsTheRevisionsOfASmallerOne() {
        let original = lines(of: SampleFeed(count: 2000))
        let few = lines(of: SampleFeed(count: 2000, revised: 0.05))
        let more = lines(of: SampleFeed(count: 2000, revised: 0.2))
        for index in original.indices where few[index] != original[index] {
            #expect(few[index] == more[index])
        }
    }

    @Test func magnitudesFollowGutenbergAndRichterAboveCompleteness() throws {
        let quakes = try Self.large.get().features.map(\.properties)
        let regional = quakes.filter { $0.net != "q0" }.compactMap(\.mag)
        let worldwide = quakes.filter { $0.net == "q0" }.compactMap(\.mag)
        func ratio(_ magnitudes: [Double], _ low: Double) -> Double {
            Double(magnitudes.count { $0 >= low }) / Double(magnitudes.count { $0 >= low + 1 })
        }
        #expect((8...12.5).contains(ratio(regional, 1.5)))
        #expect((6...16).contains(ratio(worldwide, 4.5)))
        #expect(ratio(regional, 0) < 3, "small earthquakes are rarer, because many are not detected")
    }

    @Test func theFeedHasTheRareCasesOfRealFeeds() throws {
        let features = try Self.large.get().features
        let quakes = features.map(\.properties)
        let text = String(decoding: bytes(of: SampleFeed(count: features.count)), as: UTF8.self)
        func expect(
            _ range: ClosedRange<Int>, _ trait: Comment, _ found: Int, at: SourceLocation = #_sourceLocation
        ) {
            #expect(range.contains(found), trait, sourceLocation: at)
        }
        expect(8...40, "magnitude null", quakes.count { $0.mag == nil })
        expect(80...400, "magnitude negative", quakes.count { ($0.mag ?? 0) < 0 })
        expect(1...24, "depth null", features.count { $0.geometry.coordinates[2] == nil })
        expect(80...600, "depth negative", features.count { ($0.geometry.coordinates[2] ?? 0) < 0 })
        expect(2...200, "deeper than 300 km", features.count { ($0.geometry.coordinates[2] ?? 0) > 300 })
        expect(320...1200, "several ids", quakes.count { $0.ids.split(separator: ",").count > 1 })
        expect(8...160, "three ids", quakes.count { $0.ids.split(separator: ",").count == 3 })
        expect(200...1000, "felt", quakes.count { $0.felt != nil })
        expect(20...320, "alert", quakes.count { $0.alert != nil })
        expect(1...20, "tsunami", quakes.count { $0.tsunami == 1 })
        expect(0...0, "small, tsunami", quakes.count { $0.tsunami == 1 && ($0.mag ?? 0) < 6 })
        expect(800...2400, "nst null", quakes.count { $0.nst == nil })
        expect(800...2400, "dmin null", quakes.count { $0.dmin == nil })
        expect(8...80, "rms null", quakes.count { $0.rms == nil })
        expect(400...2000, "gap null", quakes.count { $0.gap == nil })
        for type in ["quarry blast", "explosion", "ice quake"] {
            expect(16...160, "\(type)", quakes.count { $0.type == type })
        }
        for trait in [
            "é", "ñ", "ō", "Новокаменск", "新月港", "🌋", #"\u00f1"#, #"\ud83c\udf0b"#, #"\""#, #"\/"#, #"\\"#,
        ] {
            #expect(text.contains(trait))
        }
        expect(15...60, "kinds of types lists", Set(quakes.map(\.types)).count)
        #expect(Set(quakes.map(\.net)) == Set((0...9).map { "q\($0)" }))
        #expect(features.allSatisfy { (-180...180).contains($0.geometry.coordinates[0] ?? 999) })
        let average = text.utf8.count / features.count
        expect(720...780, "average size of a feature", average)
    }

    @Test func nothingInAFeedLooksLikeDataOfAnAgency() throws {
        let document = try document(of: SampleFeed(count: 2000, seed: 9, revised: 0.5))
        #expect(document.metadata.url == "https://example.org/quakes/sample.geojson")
        for feature in document.features {
            #expect(feature.id.wholeMatch(of: /q[0-9][0-9a-z]{8,}/) != nil)
            for source in feature.properties.sources.split(separator: ",") {
                #expect(source.wholeMatch(of: /q[0-9]/) != nil)
            }
            for address in [feature.properties.url, feature.properties.detail] {
                #expect(address.hasPrefix("https://example.org/") && address.contains(feature.id))
            }
        }
        let text = String(decoding: bytes(of: SampleFeed(count: 2000)), as: UTF8.self)
        #expect(!text.lowercased().contains("usgs"))
    }
}

// MARK: -

private struct Document: Decodable {
    struct Metadata: Decodable { let url: String, generated: Int }
    let metadata: Metadata
    let features: [Feature]
}

private struct Feature: Decodable, Equatable {
    struct Properties: Decodable, Equatable {
        var mag: Double?, place: String, time: Int, updated: Int, tz: Int?, url: String, detail: String
        var felt: Int?, cdi: Double?, mmi: Double?, alert: String?, status: String, tsunami: Int, sig: Int
        var net: String, code: String, ids: String, sources: String, types: String
        var nst: Int?, dmin: Double?, rms: Double?, gap: Double?, magType: String?, type: String,
            title: String
    }
    struct Geometry: Decodable, Equatable { var coordinates: [Double?] }
    var properties: Properties
    var geometry: Geometry
    let id: String
}

private func document(of feed: SampleFeed) throws -> Document {
    try JSONDecoder().decode(Document.self, from: Data(bytes(of: feed)))
}

private func features(of feed: SampleFeed) throws -> [Feature] { try document(of: feed).features }

/// One line per feature, without its comma.
private func lines(of feed: SampleFeed) -> [String] {
    let lines = String(decoding: bytes(of: feed), as: UTF8.self).split(separator: "\n").dropFirst()
    return lines.map { line in
        if let end = line.range(of: "],\"bbox\"") { return String(line[..<end.lowerBound]) }
        return String(line.hasSuffix(",") ? line.dropLast() : line)
    }
}

/// The FNV-1a hash.
private func hash(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}
