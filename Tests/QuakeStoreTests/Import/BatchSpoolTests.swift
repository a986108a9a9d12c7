import SampleFeed
import TestSupport
import Testing

@testable import QuakeStore

@Suite("The spool of a batch")
struct BatchSpoolTests {
    @Test(
        "Appended bytes can be read back in any order, whether they are in memory or in the file",
        arguments: [0, 100, 5000, 1 << 20])
    func readsBack(memoryLimit: Int) throws {
        var random = SplitMix64(seed: 7)
        let spool = BatchSpool(memoryLimit: memoryLimit)
        var room: [UInt8] = []
        for _ in 0..<3 {
            let pieces = (0..<200).map { _ in
                (0..<random.below(200)).map { _ in UInt8(random.below(256)) }
            }
            let ranges = try pieces.map { try $0.withUnsafeBufferPointer { try spool.append($0) } }

            for index in Array(pieces.indices) + pieces.indices.shuffled(using: &random) {
                #expect(try spool.withBytes(ranges[index]) { Array($0) } == pieces[index])
            }
            try spool.readAhead(atMost: 18_000, into: &room)
            for index in pieces.indices.shuffled(using: &random) {
                #expect(try spool.withBytes(ranges[index]) { Array($0) } == pieces[index])
            }

            room = spool.removeAll()
            #expect(spool.count == 0)
        }
    }
}
