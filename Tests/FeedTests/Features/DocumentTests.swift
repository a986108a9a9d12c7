import TestSupport
import Testing

@testable import Feed

@Suite struct DocumentTests {
    /// The offset is the position of the wrong byte, or the end of the document if something is missing.
    @Test(arguments: [
        ("<!DOCTYPE html><html></html>", 0), ("", 0), (" \n", 2), ("not found", 0), ("[]", 0), ("17", 0),
        ("null", 0), (#""text""#, 0),
        ("{}", 2), (#"{"features":[]}"#, 15), (#"{"type":"FeatureCollection"}"#, 28),
        (#"{"type":"Feature","features":[]}"#, 8), (#"{"type":1,"features":[]}"#, 8),
        (#"{"type":"FeatureCollection","features":{}}"#, 39),
        (#"{"type":"FeatureCollection","features":null}"#, 39),
        (#"{"type":"FeatureCollection","features":[],"features":[]}"#, 42),
        (#"{"type":"FeatureCollection","features":[],"f\u0065atures":[]}"#, 42),
        (#"{"type":"FeatureCollection","type":"FeatureCollection","features":[]}"#, 28),
        (#"{"type":"FeatureCollection","data":{"features":[]}}"#, 51),
        (#"{"type":"FeatureCollection","features":[]}}"#, 42),
        (#"{"type":"FeatureCollection","features":[]} {}"#, 43),
        (#"{"type":"FeatureCollection","features":[]},"#, 42), ("\u{FEFF}\u{FEFF}{}", 3),
        (#"{"type":"FeatureCollection","features":[],}"#, 42),
        (#"{"type":"FeatureCollection","features":[,]}"#, 40),
        (#"{"type":"FeatureCollection","features":[{},]}"#, 43),
        (#"{"type":"FeatureCollection","features":[{} {}]}"#, 43),
        (#"{"type":"FeatureCollection","features":[{]}"#, 41),
        (#"{"type":"FeatureCollection","features":[{}}"#, 42),
        (#"{"type":"FeatureCollection","features":[]]"#, 41), (#"{"type" "FeatureCollection"}"#, 8),
        (#"{type:1}"#, 1), (#"{"a":1 "b":2}"#, 7), (#"{,"a":1}"#, 1), (#"{"a":,}"#, 5),
        (#"{"a":[1,2,],"b":2}"#, 10), (#"{"a":"\x"}"#, 6), ("{\"a\u{1}\":1}", 3),
    ])
    func theErrorOfABrokenDocumentHasTheOffsetOfTheFault(text: String, offset: Int) throws {
        let error = try #require(ScanOutcome(Array(text.utf8)).error)
        guard case .brokenDocument(_, offset) = error else {
            Issue.record("\(error), not at \(offset)")
            return
        }
        #expect("\(error)".hasSuffix("at byte \(offset)"))
    }

    @Test func aDocumentThatIsCutOffAnywhereIsAnError() {
        let document = ChunkTests.hardDocument.trimmingEnd()
        for count in document.indices {
            #expect(ScanOutcome(Array(document[..<count])).error != nil, "the first \(count) bytes")
        }
        #expect(ScanOutcome(document).error == nil)
    }

    @Test func onlyFeaturesAtTheTopLevelAreRead() throws {
        let decoy = #""other":{"type":"FeatureCollection","features":[\#(feature(id: #""us9""#))]},"#
        let outcome = ScanOutcome(document([feature()], members: decoy))
        #expect(try outcome.features.map { try $0.result?.get().code } == ["us7000abcd"])
    }

    @Test(arguments: [
        #"{"type":"FeatureCollection","features":[]}"#,
        " { \"features\" : [ ] ,\t\"type\":\"FeatureCollection\"\r\n} ",
        "\u{FEFF}{\"type\":\"FeatureCollection\",\"features\":[]}",
        #"{"\u0074ype":"\u0046eatureCollection","featur\u0065s":[]}"#,
    ])
    func anEmptyCollectionIsADocument(text: String) {
        let outcome = ScanOutcome(Array(text.utf8))
        #expect(outcome.error == nil)
        #expect(outcome.features.isEmpty)
    }

    @Test(arguments: [7, 1000, Int.max])
    func aFeatureOverOneMebibyteIsCutAndTheNextOneIsAccepted(chunk: Int) throws {
        let long = feature(properties: #""long":"\#(String(repeating: "a\\\"]}", count: 400_000))","#)
        let outcome = ScanOutcome(document([feature(), long, feature()]), inChunksOf: { chunk })

        #expect(outcome.error == nil)
        #expect(outcome.features.map(\.ordinal) == [1, 2, 3])
        #expect(outcome.features[1].size == long.utf8.count)
        #expect(outcome.features[1].bytes == Array(long.utf8.prefix(64 << 10)))
        #expect(outcome.features[1].result == nil)
        #expect(try outcome.features[2].result?.get().code == "us7000abcd")
    }

    @Test(arguments: [0, 1])
    func aFeatureOfExactlyOneMebibyteIsAcceptedAndALongerOneIsNot(more: Int) {
        let frame = feature(properties: #""long":"","#).utf8.count
        let text = String(repeating: "x", count: FeatureScanner.sizeLimit - frame + more)
        let document = document([feature(properties: #""long":"\#(text)","#)])
        for chunk in [4096, Int.max] {
            let outcome = ScanOutcome(document, inChunksOf: { chunk })
            #expect((outcome.features.first?.result == nil) == (more == 1))
        }
    }

    /// Only the first 64 KiB of a feature of 100 MiB are kept. The test runs in a separate process, so that the memory of other
    /// tests is not measured.
    @Test(.measuresMemory) func onlyTheBeginningOfAHugeFeatureIsKept() async {
        await #expect(processExitsWith: .success) {
            var scanner = FeatureScanner()
            var found: [(size: Int, kept: Int)] = []
            func scan(_ text: [UInt8]) throws {
                try text.withUnsafeBufferPointer {
                    _ = try scanner.scan($0) { feature in
                        found.append((feature.size, feature.bytes.count))
                        return true
                    }
                }
            }
            let before = residentMemory()
            try scan(Array(#"{"type":"FeatureCollection","features":[""#.utf8))
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
            for _ in 0..<100 { try scan(piece) }
            #expect(residentMemory() - before < 50 << 20)
            try scan(Array(#""]}"#.utf8))
            try scanner.finish()
            #expect(found.map(\.size) == [100 << 20 + 2])
            #expect(found.map(\.kept) == [64 << 10])
        }
    }

    @Test(arguments: ["x", "metadata"]) func aHugeMemberElsewhereBreaksTheDocument(name: String) {
        let text = String(repeating: "x", count: 10_000_000)
        let document = document([], members: #""\#(name)":"\#(text)","#)
        let expected = FeedError.brokenDocument(
            reason: "a member outside \"features\" is larger than 1 MiB", offset: 31 + name.utf8.count)
        #expect(ScanOutcome(document).error == expected)
        #expect(ScanOutcome(document, inChunksOf: { 5000 }).error == expected)
    }

    @Test func aHugeMemberNameBreaksTheDocument() {
        let document = document([], members: #""\#(String(repeating: "x", count: 2_000_000))":1,"#)
        #expect(ScanOutcome(document).error != nil)
        #expect(ScanOutcome(document).error == ScanOutcome(document, inChunksOf: { 5000 }).error)
    }

    /// The names must be kept to find duplicates.
    @Test func tooManyMembersBreakTheDocument() {
        let members = (0..<100_000).map { #""m\#($0)":1,"# }.joined()
        let error = ScanOutcome(document([], members: members)).error
        #expect(error.map { "\($0)".contains("too many members") } == true)
    }

    @Test func tenThousandNestedArraysRejectOnlyTheirFeature() {
        let nested = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        let outcome = ScanOutcome(document([nested, feature(properties: #""deep":\#(nested),"#), feature()]))
        #expect(outcome.error == nil)
        #expect(outcome.features.map { $0.result?.failure?.reason } == [.syntax, .syntax, nil])
    }

    @Test func malformedMetadataAreIgnored() {
        let metadata = #""metadata":{"generated":"x","url":7,"title":null,"count":1.5,"more":[{}]},"#
        #expect(ScanOutcome(document([], members: metadata)).metadata == FeedMetadata())
        #expect(ScanOutcome(document([], members: #""metadata":[1],"#)).metadata == FeedMetadata())
        let outside =
            #""metadata":{"generated":253402300800000,"url":"a\u0000b","title":"\u0000","count":1e300},"#
        #expect(ScanOutcome(document([], members: outside)).metadata == FeedMetadata())
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

extension [UInt8] {
    fileprivate func trimmingEnd() -> [UInt8] {
        Array(self[...(lastIndex { !$0.isJSONWhitespace } ?? 0)])
    }
}
