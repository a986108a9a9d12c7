import Foundation
import SampleFeed
import Testing

@testable import Feed

/// Foundation's JSONDecoder reads the same features, and must give the same value for every property.
@Suite struct OracleTests {
    @Test(
        .enabled(if: SharedFeeds.areThere, "the real feeds are missing: ../shared/feeds"),
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
        #expect(outcome.features.count == expected.features.count)
        for (feature, oracle) in zip(outcome.features, expected.features) {
            let quake = try #require(try feature.result?.get())
            for property in Property.allCases where quake[property] != oracle.value(of: property) {
                #expect(quake[property] == oracle.value(of: property), "\(quake.code): \(property)")
            }
        }
    }
}

private struct OracleDocument: Decodable {
    struct Metadata: Decodable {
        var generated: Int64?
        var url: String?
    }
    var metadata: Metadata?
    var features: [OracleFeature]
}

private struct OracleFeature: Decodable {
    struct Geometry: Decodable {
        var coordinates: [Double?]
    }

    var id: String
    var properties: [String: OracleValue]
    var geometry: Geometry

    /// The value that the decoder must give.
    func value(of property: Property) -> Quake.Value {
        func number(_ index: Int) -> Quake.Value { geometry.coordinates[index].map { .number($0) } ?? .null }
        return switch property {
        case .code: .text(id)
        case .longitude: number(0)
        case .latitude: number(1)
        case .depth: number(2)
        case .extra: .null
        default: properties[property.feedName ?? ""]?.value(of: property.kind) ?? .null
        }
    }
}

private enum OracleValue: Decodable {
    case null
    case number(Double)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }

    /// The value for a property of this kind; nil if the types do not agree.
    func value(of kind: Property.Kind) -> Quake.Value? {
        switch (self, kind) {
        case (.null, _): .null
        case (.text(let text), .text): .text(text)
        // The list begins and ends with one or two commas. `split` leaves out the empty parts.
        case (.text(let text), .list): .list(text.split(separator: ",").map(String.init))
        case (.number(let number), .number): .number(number)
        case (.number(let number), .integer): Int32(exactly: number).map { .integer($0) }
        case (.number(let number), .flag): .flag(number == 1)
        case (.number(let number), .time): .time(Instant(milliseconds: Int64(number)))
        default: nil
        }
    }
}
