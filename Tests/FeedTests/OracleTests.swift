import Foundation
import SampleFeed
import Testing

@testable import Feed

/// Foundation's JSONDecoder reads the same features; every field has to come out the same, doubles to the bit.
@Suite struct OracleTests {
    @Test(
        .enabled(if: SharedFeeds.areThere, "the real feeds are not there: ../shared/feeds"),
        arguments: SharedFeeds.paths)
    func everyFeatureOfARealFeedIsDecodedAsJSONDecoderDoes(path: String) async throws {
        try expectTheOraclesQuakes(in: try await FeedSource.file(path).contents())
    }

    @Test func everyFeatureOfTheSampleIsDecodedAsJSONDecoderDoes() throws {
        try expectTheOraclesQuakes(in: bytes(of: SampleFeed(count: 5000)))
    }

    private func expectTheOraclesQuakes(in document: [UInt8]) throws {
        let expected = try JSONDecoder().decode(OracleDocument.self, from: Data(document))

        let outcome = ScanOutcome(document, inChunksOf: { 10_000 })

        #expect(outcome.error == nil)
        #expect(outcome.metadata.generated?.milliseconds == expected.metadata?.generated)
        #expect(outcome.metadata.url == expected.metadata?.url)
        #expect(outcome.metadata.title == expected.metadata?.title)
        #expect(outcome.metadata.count == expected.metadata?.count)
        #expect(outcome.features.count == expected.features.count)
        for (feature, oracle) in zip(outcome.features, expected.features) {
            let quake = try #require(try feature.result?.get())
            guard OracleFeature(quake) != oracle else { continue }
            #expect(OracleFeature(quake) == oracle)
        }
    }
}

private struct OracleDocument: Decodable {
    struct Metadata: Decodable {
        var generated: Int64?
        var url: String?
        var title: String?
        var count: Int?
    }
    var metadata: Metadata?
    var features: [OracleFeature]
}

private struct OracleFeature: Decodable, Equatable {
    struct Geometry: Decodable, Equatable {
        var coordinates: [ExactDouble?]
    }

    struct Properties: Decodable, Equatable {
        var mag: ExactDouble?
        var place: String?
        var time: Int64
        var updated: Int64
        var tz: Int32?
        var url: String?
        var detail: String?
        var felt: Int32?
        var cdi: ExactDouble?
        var mmi: ExactDouble?
        var alert: String?
        var status: String?
        var tsunami: Int?
        var sig: Int32?
        var net: String?
        var code: String?
        var ids: CommaList?
        var sources: CommaList?
        var types: CommaList?
        var nst: Int32?
        var dmin: ExactDouble?
        var rms: ExactDouble?
        var gap: ExactDouble?
        var magType: String?
        var type: String?
        var title: String?
    }

    var id: String
    var properties: Properties
    var geometry: Geometry
}

/// Compared by its bits.
private struct ExactDouble: Decodable, Equatable {
    let bits: UInt64

    init(_ value: Double) { bits = value.bitPattern }

    init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Double.self))
    }
}

/// Compared by its elements: the ends are empty, sometimes twice.
private struct CommaList: Decodable, Equatable {
    let elements: [String]

    init(_ elements: [String]) { self.elements = elements }

    init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self.init(text.split(separator: ",").map(String.init))
    }
}

extension OracleFeature {
    init(_ quake: Quake) {
        id = quake.code
        geometry = Geometry(
            coordinates: [
                ExactDouble(quake.longitude), ExactDouble(quake.latitude), quake.depth.map(ExactDouble.init),
            ])
        properties = Properties(
            mag: quake.magnitude.map(ExactDouble.init), place: quake.place, time: quake.time.milliseconds,
            updated: quake.updated.milliseconds, tz: quake.tz, url: quake.url, detail: quake.detail,
            felt: quake.felt, cdi: quake.cdi.map(ExactDouble.init), mmi: quake.mmi.map(ExactDouble.init),
            alert: quake.alert, status: quake.status, tsunami: quake.tsunami.map { $0 ? 1 : 0 },
            sig: quake.sig, net: quake.net, code: quake.netCode, ids: quake.ids.map(CommaList.init),
            sources: quake.sources.map(CommaList.init), types: quake.types.map(CommaList.init),
            nst: quake.nst,
            dmin: quake.dmin.map(ExactDouble.init), rms: quake.rms.map(ExactDouble.init),
            gap: quake.gap.map(ExactDouble.init), magType: quake.magnitudeType, type: quake.type,
            title: quake.title)
    }
}
