import SampleFeed
import TestSupport
import Testing

@testable import Feed

/// Any division of a document into chunks gives the same result, including errors and their offsets.
@Suite struct ChunkTests {
    static let hardDocument = Array(
        (byteOrderMark + #"""
            {  "features" : [
              {"type":"Feature","properties":{"place":"a \"b\" \\ \/ \u00e9 \ud83c\udf0b é 🌋","ids":",us1,ci2,",
               "net":"us","code":"1","time":1,"updated":2,"nested":{"a":[1,{"b":"]}\\\""}],"":null},
               "n":-1.5e-7},
               "geometry":{"type":"Point","coordinates":[1,2,null],"bbox":[]},"id":"us1"},
              {"id":"us2"}, 17, "text\\", [ {} ] ,null,
              \#(feature())
            ] , "metadata"	: { "generated":1397564567000, "url":"https:\/\/example.org\/\u0031", "count" : 6 },
            "bbox":[-1.0,2,3],"o\u0074her":"}]\\","s":true,"n":-0.1e+7,"e":"","x":{} ,
            "type":"FeatureCollecti\u006fn" }

            """#).utf8)

    private static let byteOrderMark = "\u{FEFF}"

    /// Each document is broken in a different way.
    static let brokenDocuments: [[UInt8]] =
        [
            #"{"type":"FeatureCollection","features":[{"a":[1}],"x":1}"#,
            #"{"type":"FeatureCollection","features":[{},]}"#,
            #"{"type":"FeatureCollection","features":[],"features":[]}"#,
            #"{"type":"FeatureCollection","features":[],"x":[1,2 3]}"#,
            #"{"type":"FeatureCollection","features":[],"x":"\ud800"}"#,
            #"{"type":"FeatureCollection","features":[],"x":tru}"#,
            #"{"type":"FeatureCollection","features":[],"x\q":1}"#,
            #"{"type":"Feature","features":[{}]}"#,
            #"{"type":"FeatureCollection","features":[]}x"#,
            #"{"type":"FeatureCollection","features":null}"#,
            "<html><body>503</body></html>", "[]", "", " \n ", "\u{FEFF}", "nul",
        ].map { Array($0.utf8) } + [[0xEF, 0xBB, 0x7B], [0xFF, 0xFE, 0x7B, 0x00]]

    @Test func aDocumentInTwoChunksIsTheSameWhereverItIsCut() {
        let expected = ScanOutcome(Self.hardDocument)

        for cut in 1..<Self.hardDocument.count {
            var sizes = [cut, .max]
            let outcome = ScanOutcome(Self.hardDocument, inChunksOf: { sizes.removeFirst() })
            guard outcome != expected else { continue }
            #expect(outcome == expected, "cut at \(cut)")
        }
        #expect(expected.error == nil)
        #expect(expected.features.count == 7)
        #expect(expected.features.count { (try? $0.result?.get()) != nil } == 2)
        #expect(expected.metadata.url == "https://example.org/1")
    }

    @Test(arguments: [hardDocument] + brokenDocuments)
    func aScanThatPausesAfterEachFeatureGivesTheSameResult(document: [UInt8]) {
        #expect(ScanOutcome(document, pausing: true) == ScanOutcome(document))
        #expect(ScanOutcome(document, inChunksOf: { 100 }, pausing: true) == ScanOutcome(document))
    }

    @Test(arguments: [hardDocument] + brokenDocuments)
    func aFeatureIsTheSameIfItIsDecodedBeforeItsEndIsKnown(document: [UInt8]) {
        let expected = ScanOutcome(document)
        #expect(ScanOutcome(document, measuring: true) == expected)
        for size in [1, 7, 100, 400] {
            #expect(ScanOutcome(document, inChunksOf: { size }, pausing: true, measuring: true) == expected)
        }
    }

    @Test func aFeatureOverTheLimitGivesTheSameResultIfItIsDecodedBeforeItsEnd() {
        let long = String(repeating: "x", count: FeatureScanner.sizeLimit)
        let document = Array(
            #"{"type":"FeatureCollection","features":[\#(feature(properties: #""place":"\#(long)","#)),\#(feature())]}"#
                .utf8)

        #expect(ScanOutcome(document, measuring: true) == ScanOutcome(document))
    }

    @Test(arguments: [hardDocument] + brokenDocuments)
    func singleBytesGiveTheSameResultAsOneChunk(document: [UInt8]) {
        #expect(ScanOutcome(document, inChunksOf: { 1 }) == ScanOutcome(document))
    }

    @Test(arguments: brokenDocuments)
    func aBrokenDocumentInTwoChunksHasTheSameErrorAtTheSameOffset(document: [UInt8]) {
        let expected = ScanOutcome(document)
        #expect(expected.error != nil)
        for cut in document.indices.dropFirst() {
            var sizes = [cut, .max]
            #expect(ScanOutcome(document, inChunksOf: { sizes.removeFirst() }) == expected, "cut at \(cut)")
        }
    }

    @Test func randomChunksOfTheSampleGiveTheSameFeatures() {
        var random = seededRandom()
        let document = bytes(of: SampleFeed(count: 200))
        let expected = ScanOutcome(document)

        for largest in [3, 17, 100, 5000, 70_000] {
            let outcome = ScanOutcome(document, inChunksOf: { 1 + random.below(largest) })
            #expect(outcome == expected, "chunks of up to \(largest)")
        }
        #expect(expected.features.count == 200)
    }

    @Test func emptyChunksChangeNothing() {
        var size = 0
        let outcome = ScanOutcome(
            Self.hardDocument,
            inChunksOf: {
                size = 1 - size
                return size
            })
        #expect(outcome == ScanOutcome(Self.hardDocument))
    }

    /// The document has a member that is too large and, after it, a syntax error. The first error is reported for any size of the
    /// chunks, even if one chunk contains both.
    @Test func aMemberThatIsTooLargeIsReportedInsteadOfALaterFault() {
        let long = String(repeating: "x", count: FeatureScanner.sizeLimit)
        let document = Array(#"{"x":["\#(long)"}]}"#.utf8)
        let expected = FeedError.brokenDocument(
            reason: "a member outside \"features\" is larger than 1 MiB", offset: 5)
        #expect(ScanOutcome(document).error == expected)
        #expect(ScanOutcome(document, inChunksOf: { 1000 }).error == expected)
    }

    /// The properties that the fuzzer checks also hold for its fixed corpus.
    @Test func everyPropertyHoldsForTheFuzzersCorpus() throws {
        let files = try corpus()
        #expect(files.count > 20)
        for (name, document) in files {
            let promise = brokenPromise(for: document)
            #expect(promise == nil, "Fuzz/corpus/\(name)")
        }
    }
}
