import TestSupport
import Testing

@testable import Feed

@Suite("Numbers as text")
struct ByteTextTests {
    /// Numbers with few decimals, as in feeds, and random ones.
    private var numbers: [Double] {
        var random = seededRandom()
        let rounded = (0..<20_000).map { index in
            let power = [1.0, 10, 100, 1000, 1e4, 1e5, 1e6, 1e7, 1e9][index % 9]
            return (Double(Int64(random.below(2_000_000_000)) - 1_000_000_000) / power)
        }
        let others = (0..<20_000).map { _ in Double(bitPattern: UInt64.random(in: 0...(.max), using: &random))
        }
        let edges: [Double] = [
            0, -0.0, 0.1 + 0.2, 1e-4, 9.9e-5, 1e-7, 9_007_199_254_740_992, 1e16, 1e15, 123_456_789_012_345.6,
        ]
        return rounded + others.filter(\.isFinite) + edges
    }

    @Test("A decimal has the digits of its description")
    func decimals() {
        for number in numbers {
            var text: [UInt8] = []
            text.append(decimal: number)
            #expect(String(decoding: text, as: UTF8.self) == number.description)
        }
    }

    @Test("A number reads back as the same value")
    func values() {
        for number in numbers {
            var text: [UInt8] = []
            text.append(number: number)
            #expect(Double(String(decoding: text, as: UTF8.self)) == number)
        }
    }
}
