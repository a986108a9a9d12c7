import Feed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("The batches of a document")
struct IntakeTests {
    /// 21 MB of rows.
    private static let document = Array(
        SmallFeed.document(
            (0..<3000).map { SmallFeed.feature("c\($0)", place: String(repeating: "x", count: 7000)) }
        ).utf8)

    @Test("With several lanes, a batch is full before its rows leave memory")
    func fullByBytes() throws {
        var intake = Intake(batchSize: 1_000_000)
        intake.keeping = .row
        intake.divide(by: 2)
        var fullCount = 0

        try scan { feature in
            guard let lane = try intake.add(feature) else { return }
            #expect((3 << 19...7 << 18).contains(intake.batches[lane].rowBytes))
            intake.batches[lane] = intake.emptyBatch()
            fullCount += 1
        }

        #expect(fullCount >= 8)
    }

    @Test("The first batch is full by its features alone: a document that fits one is one transaction")
    func fullByFeatures() throws {
        var intake = Intake(batchSize: 3000)
        var fullAt: [Int] = []

        try scan { feature in
            if try intake.add(feature) != nil { fullAt.append(feature.ordinal) }
        }

        #expect(fullAt == [3000])
        #expect(intake.batches[0].rowBytes > 20_000_000)
    }

    private func scan(_ body: (RawFeature) throws -> Void) throws {
        var scanner = DocumentScanner()
        _ = try Self.document.withUnsafeBufferPointer { bytes in
            try scanner.scan(bytes) { feature in
                try body(feature)
                return true
            }
        }
    }
}
